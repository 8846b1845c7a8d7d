// A CSI driver that attaches volumes by writing them down: what the external attacher of the tests talks to.
//
//	csi-driver SOCKET FOLDER [DISKS]
//
// A volume that is attached to a node is a file FOLDER/<handle>@<node>. While the file FOLDER/broken is there, attaching fails with its text.
//
// With DISKS, a node sees the volumes that are attached to it and no others: DISKS/<handle>, the data of a volume, are mounted at
// DISKS/nodes/<node>/<handle> meanwhile, where DISKS/nodes/<node> may be a link to a folder of the node.
package main

import (
	"context"
	"errors"
	"io/fs"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	folder, disks string
}

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: "attach.csi.test", VendorVersion: "1"}, nil
}

func (d *driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	service := &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{{Type: &csi.PluginCapability_Service_{Service: service}}}}, nil
}

func (d *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

func (d *driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	rpc := &csi.ControllerServiceCapability_RPC{Type: csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME}
	return &csi.ControllerGetCapabilitiesResponse{Capabilities: []*csi.ControllerServiceCapability{{Type: &csi.ControllerServiceCapability_Rpc{Rpc: rpc}}}}, nil
}

func (d *driver) ControllerPublishVolume(_ context.Context, request *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	if text, err := os.ReadFile(filepath.Join(d.folder, "broken")); err == nil {
		return nil, status.Error(codes.Internal, strings.TrimSpace(string(text)))
	}
	taken, err := filepath.Glob(filepath.Join(d.folder, request.VolumeId+"@*"))
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	place := d.place(request.VolumeId, request.NodeId)
	for _, other := range taken {
		if other != place {
			return nil, status.Error(codes.FailedPrecondition, "attached to another node: "+filepath.Base(other))
		}
	}
	if err := os.WriteFile(place, nil, 0o600); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if err := d.show(request.VolumeId, request.NodeId); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.ControllerPublishVolumeResponse{PublishContext: map[string]string{"place": filepath.Base(place)}}, nil
}

func (d *driver) ControllerUnpublishVolume(_ context.Context, request *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	if err := d.hide(request.VolumeId, request.NodeId); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if err := os.Remove(d.place(request.VolumeId, request.NodeId)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

func (d *driver) place(volume, node string) string { return filepath.Join(d.folder, volume+"@"+node) }

func (d *driver) disk(volume string) string { return filepath.Join(d.disks, volume) }

func (d *driver) shown(volume, node string) string {
	return filepath.Join(d.disks, "nodes", node, volume)
}

func (d *driver) isShown(volume, node string) bool {
	disk, err := os.Stat(d.disk(volume))
	if err != nil {
		return false
	}
	shown, err := os.Stat(d.shown(volume, node))
	return err == nil && os.SameFile(disk, shown)
}

func (d *driver) show(volume, node string) error {
	if d.disks == "" || d.isShown(volume, node) {
		return nil
	}
	if err := os.MkdirAll(d.disk(volume), 0o777); err != nil {
		return err
	}
	if err := d.give(volume, node); err != nil {
		return err
	}
	if err := os.Mkdir(d.shown(volume, node), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syscall.Mount(d.disk(volume), d.shown(volume, node), "", syscall.MS_BIND, "")
}

// The users of an emulated host are a range of this machine's that is the host's own, and a Windows disk knows none of them.
func (d *driver) give(volume, node string) error {
	folder, err := os.Stat(filepath.Dir(d.shown(volume, node)))
	if err != nil {
		return err
	}
	owner := folder.Sys().(*syscall.Stat_t)
	if int(owner.Uid) == os.Getuid() {
		return nil
	}
	return filepath.WalkDir(d.disk(volume), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(owner.Uid), int(owner.Gid))
	})
}

// Also of a node that is gone with all its mounts.
func (d *driver) hide(volume, node string) error {
	if d.disks == "" {
		return nil
	}
	if d.isShown(volume, node) {
		if err := syscall.Unmount(d.shown(volume, node), syscall.MNT_DETACH); err != nil {
			return err
		}
	}
	if err := os.Remove(d.shown(volume, node)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func main() {
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	served := &driver{folder: os.Args[2]}
	if len(os.Args) > 3 {
		served.disks = os.Args[3]
	}
	csi.RegisterIdentityServer(server, served)
	csi.RegisterControllerServer(server, served)
	log.Fatal(server.Serve(listener))
}
