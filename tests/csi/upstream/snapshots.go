package main

import (
	"context"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func snapshotOf(one *item) *csi.Snapshot {
	return &csi.Snapshot{SnapshotId: one.ID, SourceVolumeId: one.Source, SizeBytes: one.Bytes, CreationTime: timestamppb.New(one.Made), ReadyToUse: true}
}

func (d *driver) CreateSnapshot(_ context.Context, request *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	if request.Name == "" || request.SourceVolumeId == "" {
		return nil, missing("name or source_volume_id")
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if there := named(d.Snapshots, request.Name); there != nil {
		if there.Source != request.SourceVolumeId {
			return nil, status.Error(codes.AlreadyExists, "a snapshot of this name is of another volume")
		}
		return &csi.CreateSnapshotResponse{Snapshot: snapshotOf(there)}, nil
	}
	source, err := d.volume(request.SourceVolumeId)
	if err != nil {
		return nil, err
	}
	made := &item{ID: newID("snap-"), Name: request.Name, Bytes: source.Bytes, Block: source.Block, Source: source.ID, Made: time.Now()}
	if err := d.makeData(made, source); err != nil {
		return nil, internal(err)
	}
	d.Snapshots[made.ID] = made
	return &csi.CreateSnapshotResponse{Snapshot: snapshotOf(made)}, d.save()
}

func (d *driver) DeleteSnapshot(_ context.Context, request *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	if request.SnapshotId == "" {
		return nil, missing("snapshot_id")
	}
	return &csi.DeleteSnapshotResponse{}, d.remove(d.Snapshots, request.SnapshotId)
}

func (d *driver) ListSnapshots(_ context.Context, request *csi.ListSnapshotsRequest) (*csi.ListSnapshotsResponse, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	found, next, err := page(d.Snapshots, request.StartingToken, request.MaxEntries, func(one *item) bool {
		return (request.SnapshotId == "" || one.ID == request.SnapshotId) && (request.SourceVolumeId == "" || one.Source == request.SourceVolumeId)
	})
	answer := &csi.ListSnapshotsResponse{NextToken: next}
	for _, one := range found {
		answer.Entries = append(answer.Entries, &csi.ListSnapshotsResponse_Entry{Snapshot: snapshotOf(one)})
	}
	return answer, err
}
