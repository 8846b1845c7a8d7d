package main

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	response := &csi.NodeGetInfoResponse{NodeId: d.node, MaxVolumesPerNode: max(d.mostVolumes, d.attachLimit)}
	if d.topology {
		response.AccessibleTopology = d.here()[0]
	}
	return response, nil
}

func (d *driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	types := []csi.NodeServiceCapability_RPC_Type{csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME, csi.NodeServiceCapability_RPC_GET_VOLUME_STATS,
		csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER}
	if d.expandOnNode {
		types = append(types, csi.NodeServiceCapability_RPC_EXPAND_VOLUME)
	}
	response := &csi.NodeGetCapabilitiesResponse{}
	for _, each := range types {
		response.Capabilities = append(response.Capabilities, &csi.NodeServiceCapability{
			Type: &csi.NodeServiceCapability_Rpc{Rpc: &csi.NodeServiceCapability_RPC{Type: each}}})
	}
	return response, nil
}

func (d *driver) NodeStageVolume(_ context.Context, request *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if request.StagingTargetPath == "" || request.VolumeCapability == nil {
		return nil, status.Error(codes.InvalidArgument, "a field is missing")
	}
	found, err := d.find(request.VolumeId)
	if err != nil {
		return nil, err
	}
	if err := d.outOfOrder(d.attach && found.Attached == "", "volume %s is not attached", found.ID); err != nil {
		return nil, err
	}
	found.Staged = with(found.Staged, request.StagingTargetPath)
	return &csi.NodeStageVolumeResponse{}, d.save()
}

func (d *driver) NodeUnstageVolume(_ context.Context, request *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	found, err := d.find(request.VolumeId)
	if err != nil {
		return nil, err
	}
	if err := d.outOfOrder(len(found.Published) > 0, "volume %s is published", found.ID); err != nil {
		return nil, err
	}
	delete(found.Staged, request.StagingTargetPath)
	return &csi.NodeUnstageVolumeResponse{}, d.save()
}

func (d *driver) NodePublishVolume(_ context.Context, request *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if request.TargetPath == "" || request.VolumeCapability == nil {
		return nil, status.Error(codes.InvalidArgument, "a field is missing")
	}
	if request.VolumeContext["csi.storage.k8s.io/ephemeral"] == "true" && d.volumes[request.VolumeId] == nil {
		if err := makeOpenFolder(d.place(request.VolumeId)); err != nil {
			return nil, internal(err)
		}
		d.volumes[request.VolumeId] = &volume{ID: request.VolumeId, Size: smallest, Ephemeral: true}
	}
	found, err := d.find(request.VolumeId)
	if err != nil {
		return nil, err
	}
	if err := d.outOfOrder(!found.Ephemeral && !found.Staged[request.StagingTargetPath], "volume %s is not staged", found.ID); err != nil {
		return nil, err
	}
	if (request.VolumeCapability.GetBlock() != nil) != found.Block {
		return nil, status.Error(codes.InvalidArgument, "the volume has another mode")
	}
	if err := d.publish(found, request); err != nil {
		return nil, internal(err)
	}
	found.Published = with(found.Published, request.TargetPath)
	return &csi.NodePublishVolumeResponse{}, d.save()
}

func (d *driver) publish(v *volume, request *csi.NodePublishVolumeRequest) error {
	if isMounted(request.TargetPath) {
		return nil
	}
	if !v.Block {
		if err := os.MkdirAll(request.TargetPath, 0o750); err != nil {
			return err
		}
		return bind(d.place(v.ID), request.TargetPath, request.Readonly)
	}
	if v.LoopDevice == "" {
		device, err := attachLoop(d.place(v.ID))
		if err != nil {
			return err
		}
		v.LoopDevice = device
	}
	if err := os.WriteFile(request.TargetPath, nil, 0o600); err != nil {
		return err
	}
	return bind(v.LoopDevice, request.TargetPath, false)
}

func (d *driver) NodeUnpublishVolume(_ context.Context, request *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	found, err := d.find(request.VolumeId)
	if err != nil {
		return nil, err
	}
	for isMounted(request.TargetPath) {
		if err := unix.Unmount(request.TargetPath, 0); err != nil {
			return nil, internal(err)
		}
	}
	if err := os.Remove(request.TargetPath); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, internal(err)
	}
	delete(found.Published, request.TargetPath)
	if found.Block && len(found.Published) == 0 {
		if err := detachLoop(found.LoopDevice); err != nil {
			return nil, internal(err)
		}
		found.LoopDevice = ""
	}
	if found.Ephemeral && len(found.Published) == 0 {
		if err := d.forget(found); err != nil {
			return nil, err
		}
	}
	return &csi.NodeUnpublishVolumeResponse{}, d.save()
}

func (d *driver) NodeExpandVolume(_ context.Context, request *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	found, err := d.find(request.VolumeId)
	if err != nil {
		return nil, err
	}
	return &csi.NodeExpandVolumeResponse{CapacityBytes: found.Size}, nil
}

func (d *driver) NodeGetVolumeStats(_ context.Context, request *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	found, err := d.find(request.VolumeId)
	if err != nil {
		return nil, err
	}
	if found.Block {
		return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{{Unit: csi.VolumeUsage_BYTES, Total: found.Size}}}, nil
	}
	files := unix.Statfs_t{}
	if err := unix.Statfs(request.VolumePath, &files); err != nil {
		return nil, status.Error(codes.NotFound, err.Error())
	}
	block := int64(files.Bsize)
	return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{
		{Unit: csi.VolumeUsage_BYTES, Total: int64(files.Blocks) * block, Available: int64(files.Bavail) * block, Used: int64(files.Blocks-files.Bfree) * block},
		{Unit: csi.VolumeUsage_INODES, Total: int64(files.Files), Available: int64(files.Ffree), Used: int64(files.Files - files.Ffree)}}}, nil
}

func with(set map[string]bool, name string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[name] = true
	return set
}
