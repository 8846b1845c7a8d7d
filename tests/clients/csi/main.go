// A CSI driver that attaches volumes by writing them down: what the external attacher of the tests talks to.
//
//	csi-driver SOCKET FOLDER
//
// A volume that is attached to a node is a file FOLDER/<handle>@<node>. While the file FOLDER/broken is there, attaching fails with its text.
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

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	folder string
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
	return &csi.ControllerPublishVolumeResponse{PublishContext: map[string]string{"place": filepath.Base(place)}}, nil
}

func (d *driver) ControllerUnpublishVolume(_ context.Context, request *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	if err := os.Remove(d.place(request.VolumeId, request.NodeId)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

func (d *driver) place(volume, node string) string { return filepath.Join(d.folder, volume+"@"+node) }

func main() {
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	served := &driver{folder: os.Args[2]}
	csi.RegisterIdentityServer(server, served)
	csi.RegisterControllerServer(server, served)
	log.Fatal(server.Serve(listener))
}
