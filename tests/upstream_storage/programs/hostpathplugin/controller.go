package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	smallest = 1 << 20
	largest  = 1 << 40
)

func (d *driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	types := []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME, csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS, csi.ControllerServiceCapability_RPC_CLONE_VOLUME,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME, csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
		csi.ControllerServiceCapability_RPC_GET_CAPACITY}
	if d.attach {
		types = append(types, csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME)
	}
	if d.modify {
		types = append(types, csi.ControllerServiceCapability_RPC_MODIFY_VOLUME)
	}
	response := &csi.ControllerGetCapabilitiesResponse{}
	for _, each := range types {
		response.Capabilities = append(response.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: each}}})
	}
	return response, nil
}

func sizeOf(capacity *csi.CapacityRange) (int64, error) {
	size := max(capacity.GetRequiredBytes(), smallest)
	if limit := capacity.GetLimitBytes(); size > largest || (limit > 0 && size > limit) {
		return 0, status.Errorf(codes.OutOfRange, "no volume of %d bytes", size)
	}
	return size, nil
}

func isBlock(capabilities []*csi.VolumeCapability) bool {
	return slices.ContainsFunc(capabilities, func(each *csi.VolumeCapability) bool { return each.GetBlock() != nil })
}

func (d *driver) checkMutable(parameters map[string]string) error {
	accepted := strings.Split(d.mutable, ",")
	for name := range parameters {
		if !slices.Contains(accepted, name) {
			return status.Errorf(codes.InvalidArgument, "unknown attribute %s", name)
		}
	}
	return nil
}

func (d *driver) CreateVolume(_ context.Context, request *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if request.Name == "" || len(request.VolumeCapabilities) == 0 {
		return nil, status.Error(codes.InvalidArgument, "a field is missing")
	}
	size, err := sizeOf(request.CapacityRange)
	if err != nil {
		return nil, err
	}
	if err := d.checkMutable(request.MutableParameters); err != nil {
		return nil, err
	}
	for _, found := range d.volumes {
		if found.Name == request.Name {
			if found.Size < size {
				return nil, status.Error(codes.AlreadyExists, "the volume has another size")
			}
			return d.created(found, request), nil
		}
	}
	made := &volume{ID: "v-" + request.Name, Name: request.Name, Size: size, Block: isBlock(request.VolumeCapabilities), Parameters: request.MutableParameters}
	if err := d.fill(made, request.VolumeContentSource); err != nil {
		os.RemoveAll(d.place(made.ID))
		return nil, err
	}
	d.volumes[made.ID] = made
	return d.created(made, request), d.save()
}

func (d *driver) created(v *volume, request *csi.CreateVolumeRequest) *csi.CreateVolumeResponse {
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{VolumeId: v.ID, CapacityBytes: v.Size, VolumeContext: request.Parameters,
		ContentSource: request.VolumeContentSource, AccessibleTopology: d.here()}}
}

// Makes the volume's place, empty or with what another volume or a snapshot has.
func (d *driver) fill(made *volume, source *csi.VolumeContentSource) error {
	from, size, block := "", int64(0), made.Block
	if wanted := source.GetSnapshot(); wanted != nil {
		found, ok := d.snapshots[wanted.SnapshotId]
		if !ok {
			return status.Errorf(codes.NotFound, "no snapshot %s", wanted.SnapshotId)
		}
		from, size, block = d.place(found.ID), found.Size, found.Block
	}
	if wanted := source.GetVolume(); wanted != nil {
		found, ok := d.volumes[wanted.VolumeId]
		if !ok {
			return status.Errorf(codes.NotFound, "no volume %s", wanted.VolumeId)
		}
		from, size, block = d.place(found.ID), found.Size, found.Block
	}
	if block != made.Block {
		return status.Error(codes.InvalidArgument, "the source has another volume mode")
	}
	if size > made.Size {
		return status.Error(codes.OutOfRange, "the source is larger")
	}
	if from != "" {
		if err := copyTree(from, d.place(made.ID)); err != nil {
			return internal(err)
		}
	}
	if made.Block {
		return internal(growFile(d.place(made.ID), made.Size))
	}
	return internal(makeOpenFolder(d.place(made.ID)))
}

func (d *driver) DeleteVolume(_ context.Context, request *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	found, ok := d.volumes[request.VolumeId]
	if !ok {
		return &csi.DeleteVolumeResponse{}, nil
	}
	if err := d.outOfOrder(found.Attached != "" || len(found.Staged)+len(found.Published) > 0, "volume %s is in use", found.ID); err != nil {
		return nil, err
	}
	if err := d.forget(found); err != nil {
		return nil, err
	}
	return &csi.DeleteVolumeResponse{}, d.save()
}

func (d *driver) forget(v *volume) error {
	if err := detachLoop(v.LoopDevice); err != nil {
		return internal(err)
	}
	if err := os.RemoveAll(d.place(v.ID)); err != nil {
		return internal(err)
	}
	delete(d.volumes, v.ID)
	return nil
}

func (d *driver) ControllerPublishVolume(_ context.Context, request *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	found, err := d.find(request.VolumeId)
	if err != nil {
		return nil, err
	}
	if request.NodeId != d.node {
		return nil, status.Errorf(codes.NotFound, "no node %s", request.NodeId)
	}
	found.Attached = request.NodeId
	return &csi.ControllerPublishVolumeResponse{PublishContext: map[string]string{}}, d.save()
}

func (d *driver) ControllerUnpublishVolume(_ context.Context, request *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if found, ok := d.volumes[request.VolumeId]; ok {
		if err := d.outOfOrder(len(found.Staged)+len(found.Published) > 0, "volume %s is staged or published", found.ID); err != nil {
			return nil, err
		}
		found.Attached = ""
	}
	return &csi.ControllerUnpublishVolumeResponse{}, d.save()
}

func (d *driver) ValidateVolumeCapabilities(_ context.Context, request *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	found, err := d.find(request.VolumeId)
	if err != nil {
		return nil, err
	}
	if isBlock(request.VolumeCapabilities) != found.Block {
		return &csi.ValidateVolumeCapabilitiesResponse{Message: "another volume mode"}, nil
	}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeCapabilities: request.VolumeCapabilities}}, nil
}

func (d *driver) GetCapacity(context.Context, *csi.GetCapacityRequest) (*csi.GetCapacityResponse, error) {
	return &csi.GetCapacityResponse{AvailableCapacity: largest}, nil
}

func (d *driver) ControllerExpandVolume(_ context.Context, request *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	found, err := d.find(request.VolumeId)
	if err != nil {
		return nil, err
	}
	size, err := sizeOf(request.CapacityRange)
	if err != nil {
		return nil, err
	}
	if size > found.Size {
		if found.Block {
			if err := growFile(d.place(found.ID), size); err != nil {
				return nil, internal(err)
			}
			if err := noticeGrowth(found.LoopDevice); err != nil {
				return nil, internal(err)
			}
		}
		found.Size = size
	}
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: found.Size, NodeExpansionRequired: d.expandOnNode}, d.save()
}

func (d *driver) ControllerModifyVolume(_ context.Context, request *csi.ControllerModifyVolumeRequest) (*csi.ControllerModifyVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	found, err := d.find(request.VolumeId)
	if err != nil {
		return nil, err
	}
	if err := d.checkMutable(request.MutableParameters); err != nil {
		return nil, err
	}
	found.Parameters = request.MutableParameters
	return &csi.ControllerModifyVolumeResponse{}, d.save()
}

func (d *driver) CreateSnapshot(_ context.Context, request *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if request.Name == "" {
		return nil, status.Error(codes.InvalidArgument, "no name")
	}
	source, err := d.find(request.SourceVolumeId)
	if err != nil {
		return nil, err
	}
	for _, found := range d.snapshots {
		if found.Name == request.Name {
			if found.Volume != source.ID {
				return nil, status.Error(codes.AlreadyExists, "the snapshot is of another volume")
			}
			return &csi.CreateSnapshotResponse{Snapshot: found.message()}, nil
		}
	}
	made, err := d.take(request.Name, source, "")
	if err != nil {
		return nil, err
	}
	return &csi.CreateSnapshotResponse{Snapshot: made.message()}, d.save()
}

func (d *driver) take(name string, source *volume, group string) (*snapshot, error) {
	made := &snapshot{ID: "s-" + name, Name: name, Volume: source.ID, Group: group, Size: source.Size, Seconds: time.Now().Unix(), Block: source.Block}
	if err := copyTree(d.place(source.ID), d.place(made.ID)); err != nil {
		os.RemoveAll(d.place(made.ID))
		return nil, internal(err)
	}
	d.snapshots[made.ID] = made
	return made, nil
}

func (s *snapshot) message() *csi.Snapshot {
	return &csi.Snapshot{SnapshotId: s.ID, SourceVolumeId: s.Volume, GroupSnapshotId: s.Group, SizeBytes: s.Size,
		CreationTime: &timestamppb.Timestamp{Seconds: s.Seconds}, ReadyToUse: true}
}

func (d *driver) DeleteSnapshot(_ context.Context, request *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if found, ok := d.snapshots[request.SnapshotId]; ok {
		if found.Group != "" {
			return nil, status.Errorf(codes.InvalidArgument, "snapshot %s is one of a group", found.ID)
		}
		if err := d.discard(found); err != nil {
			return nil, err
		}
	}
	return &csi.DeleteSnapshotResponse{}, d.save()
}

func (d *driver) discard(s *snapshot) error {
	if err := os.RemoveAll(d.place(s.ID)); err != nil {
		return internal(err)
	}
	delete(d.snapshots, s.ID)
	return nil
}

func (d *driver) ListSnapshots(_ context.Context, request *csi.ListSnapshotsRequest) (*csi.ListSnapshotsResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	response := &csi.ListSnapshotsResponse{}
	for _, each := range d.snapshots {
		if (request.SnapshotId == "" || request.SnapshotId == each.ID) && (request.SourceVolumeId == "" || request.SourceVolumeId == each.Volume) {
			response.Entries = append(response.Entries, &csi.ListSnapshotsResponse_Entry{Snapshot: each.message()})
		}
	}
	return response, nil
}
