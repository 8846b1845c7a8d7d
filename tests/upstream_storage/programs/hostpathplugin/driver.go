package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const topologyKey = "topology.hostpath.csi/node"

// A directory or, for a block device, a file of the state folder, called as its id.
type volume struct {
	ID, Name   string
	Size       int64
	Block      bool
	Ephemeral  bool
	Attached   string // the node
	Staged     map[string]bool
	Published  map[string]bool
	Parameters map[string]string
	LoopDevice string
}

type snapshot struct {
	ID, Name, Volume string
	Group            string // "" is none
	Size, Seconds    int64
	Block            bool
}

// driver serves all calls, one at a time. What it knows is written to state.json after each change, so that it survives its container.
type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	csi.UnimplementedGroupControllerServer
	csi.UnimplementedNodeServer
	settings
	lock      sync.Mutex
	volumes   map[string]*volume
	snapshots map[string]*snapshot
}

func newDriver(s settings) (*driver, error) {
	d := &driver{settings: s, volumes: map[string]*volume{}, snapshots: map[string]*snapshot{}}
	if err := os.MkdirAll(s.folder, 0o750); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(s.folder, "state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	state := struct {
		Volumes   map[string]*volume
		Snapshots map[string]*snapshot
	}{d.volumes, d.snapshots}
	return d, json.Unmarshal(text, &state)
}

func (d *driver) save() error {
	text, err := json.Marshal(map[string]any{"Volumes": d.volumes, "Snapshots": d.snapshots})
	if err != nil {
		return internal(err)
	}
	place := filepath.Join(d.folder, "state.json")
	if err := os.WriteFile(place+".new", text, 0o600); err != nil {
		return internal(err)
	}
	return internal(os.Rename(place+".new", place))
}

func (d *driver) place(id string) string { return filepath.Join(d.folder, filepath.Base(id)) }

func (d *driver) find(id string) (*volume, error) {
	if id == "" {
		return nil, status.Error(codes.InvalidArgument, "no volume id")
	}
	found, ok := d.volumes[id]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "no volume %s", id)
	}
	return found, nil
}

// Out of order is an error of Kubernetes', which tests are to see.
func (d *driver) outOfOrder(is bool, format string, values ...any) error {
	if !d.checkLifecycle || !is {
		return nil
	}
	return status.Errorf(codes.Internal, "out of order: "+format, values...)
}

func internal(err error) error {
	if err == nil {
		return nil
	}
	return status.Error(codes.Internal, err.Error())
}

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: d.name, VendorVersion: "1"}, nil
}

func (d *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

func (d *driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	services := []csi.PluginCapability_Service_Type{csi.PluginCapability_Service_CONTROLLER_SERVICE,
		csi.PluginCapability_Service_GROUP_CONTROLLER_SERVICE}
	if d.topology {
		services = append(services, csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS)
	}
	response := &csi.GetPluginCapabilitiesResponse{}
	for _, each := range services {
		response.Capabilities = append(response.Capabilities, &csi.PluginCapability{
			Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: each}}})
	}
	response.Capabilities = append(response.Capabilities, &csi.PluginCapability{Type: &csi.PluginCapability_VolumeExpansion_{
		VolumeExpansion: &csi.PluginCapability_VolumeExpansion{Type: csi.PluginCapability_VolumeExpansion_ONLINE}}})
	return response, nil
}

func (d *driver) here() []*csi.Topology {
	if !d.topology {
		return nil
	}
	return []*csi.Topology{{Segments: map[string]string{topologyKey: d.node}}}
}
