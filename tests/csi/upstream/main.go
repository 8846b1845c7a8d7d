// The controller's half of the tests' CSI driver, beside the node's half (tests/csi/csi_driver.h): they share a folder.
//
//	csi-controller -endpoint SOCKET -name DRIVER -node ID -storage FOLDER
//
// A volume is the folder FOLDER/<id>, or for block devices the file FOLDER/<id>.img; a snapshot is a copy of either.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"flag"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const defaultBytes = 64 << 20

var capabilities = []csi.ControllerServiceCapability_RPC_Type{
	csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
	csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
	csi.ControllerServiceCapability_RPC_PUBLISH_READONLY,
	csi.ControllerServiceCapability_RPC_LIST_VOLUMES,
	csi.ControllerServiceCapability_RPC_GET_CAPACITY,
	csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
	csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS,
	csi.ControllerServiceCapability_RPC_CLONE_VOLUME,
	csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
}

// Of a volume or a snapshot.
type item struct {
	ID, Name  string
	Bytes     int64
	Block     bool
	Source    string // what it was made of: the id of a volume or snapshot
	Made      time.Time
	Published map[string]string // how, by node
}

type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	name, node, storage string

	mutex     sync.Mutex // for all below
	Volumes   map[string]*item
	Snapshots map[string]*item
}

func (d *driver) stateFile() string { return filepath.Join(d.storage, "controller.json") }

func (d *driver) load() {
	d.Volumes, d.Snapshots = map[string]*item{}, map[string]*item{}
	if text, err := os.ReadFile(d.stateFile()); err == nil {
		if err := json.Unmarshal(text, d); err != nil {
			log.Fatal(err)
		}
	}
}

// Requires: the mutex.
func (d *driver) save() error {
	text, err := json.Marshal(map[string]any{"Volumes": d.Volumes, "Snapshots": d.Snapshots})
	if err == nil {
		err = os.WriteFile(d.stateFile()+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(d.stateFile()+".new", d.stateFile())
	}
	return internal(err)
}

func internal(err error) error {
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

func missing(field string) error { return status.Error(codes.InvalidArgument, field+" is missing") }

func newID(prefix string) string {
	bytes := make([]byte, 8)
	_, _ = rand.Read(bytes)
	return prefix + hex.EncodeToString(bytes)
}

func named(items map[string]*item, name string) *item {
	for _, one := range items {
		if one.Name == name {
			return one
		}
	}
	return nil
}

func (d *driver) path(one *item) string {
	if one.Block {
		return filepath.Join(d.storage, one.ID+".img")
	}
	return filepath.Join(d.storage, one.ID)
}

// Makes the data of `one`, as a copy of `source` if there is one.
func (d *driver) makeData(one, source *item) error {
	if source != nil {
		return exec.Command("cp", "-a", "--reflink=auto", "-T", d.path(source), d.path(one)).Run()
	}
	if !one.Block {
		if err := os.Mkdir(d.path(one), 0o777); err != nil {
			return err
		}
		return os.Chmod(d.path(one), 0o777)
	}
	file, err := os.Create(d.path(one))
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Truncate(one.Bytes)
}

// --- identity

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: d.name, VendorVersion: "1"}, nil
}

func (d *driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	service := &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{{Type: &csi.PluginCapability_Service_{Service: service}}}}, nil
}

func (d *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

func (d *driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, one := range capabilities {
		rpc := &csi.ControllerServiceCapability_RPC{Type: one}
		answer.Capabilities = append(answer.Capabilities, &csi.ControllerServiceCapability{Type: &csi.ControllerServiceCapability_Rpc{Rpc: rpc}})
	}
	return answer, nil
}

// --- volumes

func (d *driver) CreateVolume(_ context.Context, request *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	if request.Name == "" {
		return nil, missing("name")
	}
	if len(request.VolumeCapabilities) == 0 {
		return nil, missing("volume_capabilities")
	}
	required, limit := request.GetCapacityRange().GetRequiredBytes(), request.GetCapacityRange().GetLimitBytes()
	sourceID := request.GetVolumeContentSource().GetSnapshot().GetSnapshotId() + request.GetVolumeContentSource().GetVolume().GetVolumeId()
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if there := named(d.Volumes, request.Name); there != nil {
		if there.Bytes < required || (limit > 0 && there.Bytes > limit) || there.Source != sourceID {
			return nil, status.Error(codes.AlreadyExists, "a volume of this name is there, and another one")
		}
		return &csi.CreateVolumeResponse{Volume: volumeOf(there, request.VolumeContentSource)}, nil
	}
	made := &item{ID: newID("vol-"), Name: request.Name, Bytes: max(required, defaultBytes), Source: sourceID, Made: time.Now()}
	for _, one := range request.VolumeCapabilities {
		made.Block = made.Block || one.GetBlock() != nil
	}
	var source *item
	if request.VolumeContentSource != nil {
		if source = d.Snapshots[sourceID]; source == nil {
			source = d.Volumes[sourceID]
		}
		if source == nil {
			return nil, status.Error(codes.NotFound, "the source "+sourceID+" is not there")
		}
		made.Bytes = max(made.Bytes, source.Bytes)
	}
	if limit > 0 && made.Bytes > limit {
		return nil, status.Error(codes.OutOfRange, "volumes have at least "+strconv.FormatInt(made.Bytes, 10)+" bytes")
	}
	if err := d.makeData(made, source); err != nil {
		return nil, internal(err)
	}
	d.Volumes[made.ID] = made
	return &csi.CreateVolumeResponse{Volume: volumeOf(made, request.VolumeContentSource)}, d.save()
}

func volumeOf(one *item, source *csi.VolumeContentSource) *csi.Volume {
	return &csi.Volume{VolumeId: one.ID, CapacityBytes: one.Bytes, ContentSource: source}
}

func (d *driver) DeleteVolume(_ context.Context, request *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	if request.VolumeId == "" {
		return nil, missing("volume_id")
	}
	return &csi.DeleteVolumeResponse{}, d.remove(d.Volumes, request.VolumeId)
}

func (d *driver) remove(items map[string]*item, id string) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	one := items[id]
	if one == nil {
		return nil
	}
	if len(one.Published) > 0 {
		return status.Error(codes.FailedPrecondition, id+" is published")
	}
	if err := os.RemoveAll(d.path(one)); err != nil {
		return internal(err)
	}
	delete(items, id)
	return d.save()
}

func (d *driver) volume(id string) (*item, error) {
	if id == "" {
		return nil, missing("volume_id")
	}
	one := d.Volumes[id]
	if one == nil {
		return nil, status.Error(codes.NotFound, "the volume "+id+" is not there")
	}
	return one, nil
}

func (d *driver) ControllerPublishVolume(_ context.Context, request *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	if request.VolumeId == "" || request.NodeId == "" || request.VolumeCapability == nil {
		return nil, missing("volume_id, node_id or volume_capability")
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	volume, err := d.volume(request.VolumeId)
	if err != nil {
		return nil, err
	}
	if request.NodeId != d.node {
		return nil, status.Error(codes.NotFound, "the node "+request.NodeId+" is not there")
	}
	how := strconv.FormatBool(request.Readonly)
	if before, ok := volume.Published[request.NodeId]; ok && before != how {
		return nil, status.Error(codes.AlreadyExists, "the volume is published otherwise")
	}
	if volume.Published == nil {
		volume.Published = map[string]string{}
	}
	volume.Published[request.NodeId] = how
	return &csi.ControllerPublishVolumeResponse{PublishContext: map[string]string{"readonly": how}}, d.save()
}

func (d *driver) ControllerUnpublishVolume(_ context.Context, request *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	if request.VolumeId == "" {
		return nil, missing("volume_id")
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if volume := d.Volumes[request.VolumeId]; volume != nil {
		delete(volume.Published, request.NodeId)
		if request.NodeId == "" {
			volume.Published = nil
		}
	}
	return &csi.ControllerUnpublishVolumeResponse{}, d.save()
}

func (d *driver) ValidateVolumeCapabilities(_ context.Context, request *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if request.VolumeId == "" || len(request.VolumeCapabilities) == 0 {
		return nil, missing("volume_id or volume_capabilities")
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	volume, err := d.volume(request.VolumeId)
	if err != nil {
		return nil, err
	}
	for _, one := range request.VolumeCapabilities {
		if (one.GetBlock() != nil) != volume.Block {
			return &csi.ValidateVolumeCapabilitiesResponse{Message: "the volume has the other mode"}, nil
		}
	}
	confirmed := &csi.ValidateVolumeCapabilitiesResponse_Confirmed{VolumeCapabilities: request.VolumeCapabilities}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: confirmed}, nil
}

func (d *driver) ControllerExpandVolume(_ context.Context, request *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	if request.CapacityRange == nil {
		return nil, missing("capacity_range")
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	volume, err := d.volume(request.VolumeId)
	if err != nil {
		return nil, err
	}
	volume.Bytes = max(volume.Bytes, request.CapacityRange.RequiredBytes)
	if volume.Block {
		if err := os.Truncate(d.path(volume), volume.Bytes); err != nil {
			return nil, internal(err)
		}
	}
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: volume.Bytes, NodeExpansionRequired: true}, d.save()
}

func (d *driver) GetCapacity(context.Context, *csi.GetCapacityRequest) (*csi.GetCapacityResponse, error) {
	return &csi.GetCapacityResponse{AvailableCapacity: 1 << 40}, nil
}

// The items of one page, oldest first, and the token of the next.
func page(items map[string]*item, token string, most int32, wanted func(*item) bool) ([]*item, string, error) {
	var all []*item
	for _, one := range items {
		if wanted(one) {
			all = append(all, one)
		}
	}
	sort.Slice(all, func(a, b int) bool { return all[a].Made.Before(all[b].Made) })
	start := 0
	if token != "" {
		var err error
		if start, err = strconv.Atoi(token); err != nil || start < 0 || start > len(all) {
			return nil, "", status.Error(codes.Aborted, "starting_token is not one of this driver")
		}
	}
	end := len(all)
	if most > 0 && start+int(most) < end {
		end = start + int(most)
		return all[start:end], strconv.Itoa(end), nil
	}
	return all[start:end], "", nil
}

func (d *driver) ListVolumes(_ context.Context, request *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	found, next, err := page(d.Volumes, request.StartingToken, request.MaxEntries, func(*item) bool { return true })
	answer := &csi.ListVolumesResponse{NextToken: next}
	for _, one := range found {
		answer.Entries = append(answer.Entries, &csi.ListVolumesResponse_Entry{Volume: volumeOf(one, nil)})
	}
	return answer, err
}

func main() {
	served := &driver{}
	endpoint := flag.String("endpoint", "", "the socket to serve on")
	flag.StringVar(&served.name, "name", "csi.example.com", "of the driver")
	flag.StringVar(&served.node, "node", "node-1", "what the node's half calls itself")
	flag.StringVar(&served.storage, "storage", "", "the folder of the volumes")
	flag.Parse()
	served.load()
	listener, err := net.Listen("unix", *endpoint)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	csi.RegisterIdentityServer(server, served)
	csi.RegisterControllerServer(server, served)
	log.Fatal(server.Serve(listener))
}
