package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func (d *driver) GroupControllerGetCapabilities(context.Context, *csi.GroupControllerGetCapabilitiesRequest) (*csi.GroupControllerGetCapabilitiesResponse, error) {
	return &csi.GroupControllerGetCapabilitiesResponse{Capabilities: []*csi.GroupControllerServiceCapability{{
		Type: &csi.GroupControllerServiceCapability_Rpc{Rpc: &csi.GroupControllerServiceCapability_RPC{
			Type: csi.GroupControllerServiceCapability_RPC_CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT}}}}}, nil
}

// The snapshots of a group, in the order of their ids. A group is nothing but its snapshots: they have its id.
func (d *driver) members(group string) []*snapshot {
	var found []*snapshot
	for _, each := range d.snapshots {
		if each.Group == group {
			found = append(found, each)
		}
	}
	slices.SortFunc(found, func(a, b *snapshot) int { return strings.Compare(a.ID, b.ID) })
	return found
}

func groupMessage(group string, members []*snapshot) *csi.VolumeGroupSnapshot {
	message := &csi.VolumeGroupSnapshot{GroupSnapshotId: group, CreationTime: &timestamppb.Timestamp{Seconds: members[0].Seconds}, ReadyToUse: true}
	for _, each := range members {
		message.Snapshots = append(message.Snapshots, each.message())
	}
	return message
}

// No other call is served meanwhile, so all snapshots are of one time as far as this driver's own changes go.
func (d *driver) CreateVolumeGroupSnapshot(_ context.Context, request *csi.CreateVolumeGroupSnapshotRequest) (*csi.CreateVolumeGroupSnapshotResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if request.Name == "" || len(request.SourceVolumeIds) == 0 {
		return nil, status.Error(codes.InvalidArgument, "a field is missing")
	}
	group := "g-" + request.Name
	members := d.members(group)
	if len(members) > 0 {
		sources := slices.Sorted(slices.Values(request.SourceVolumeIds))
		var known []string
		for _, each := range members {
			known = append(known, each.Volume)
		}
		if slices.Sort(known); !slices.Equal(sources, known) {
			return nil, status.Error(codes.AlreadyExists, "the group is of other volumes")
		}
		return &csi.CreateVolumeGroupSnapshotResponse{GroupSnapshot: groupMessage(group, members)}, nil
	}
	for number, id := range request.SourceVolumeIds {
		source, err := d.find(id)
		if err == nil {
			_, err = d.take(fmt.Sprintf("%s-%d", request.Name, number), source, group)
		}
		if err != nil {
			for _, each := range d.members(group) {
				d.discard(each)
			}
			return nil, err
		}
	}
	return &csi.CreateVolumeGroupSnapshotResponse{GroupSnapshot: groupMessage(group, d.members(group))}, d.save()
}

func (d *driver) DeleteVolumeGroupSnapshot(_ context.Context, request *csi.DeleteVolumeGroupSnapshotRequest) (*csi.DeleteVolumeGroupSnapshotResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if request.GroupSnapshotId == "" {
		return nil, status.Error(codes.InvalidArgument, "no id of a group")
	}
	for _, each := range d.members(request.GroupSnapshotId) {
		if err := d.discard(each); err != nil {
			return nil, err
		}
	}
	return &csi.DeleteVolumeGroupSnapshotResponse{}, d.save()
}

func (d *driver) GetVolumeGroupSnapshot(_ context.Context, request *csi.GetVolumeGroupSnapshotRequest) (*csi.GetVolumeGroupSnapshotResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	members := d.members(request.GroupSnapshotId)
	if request.GroupSnapshotId == "" || len(members) == 0 {
		return nil, status.Errorf(codes.NotFound, "no group %s", request.GroupSnapshotId)
	}
	return &csi.GetVolumeGroupSnapshotResponse{GroupSnapshot: groupMessage(request.GroupSnapshotId, members)}, nil
}
