// A CSI driver that keeps volumes as directories and files of one node, in place of upstream's csi-driver-host-path, whose module no registry
// carries. It takes the arguments that the manifests and tests of upstream's storage suite give, and refuses what Kubernetes must not do, such
// as publishing a volume that is not staged.
//
// With --proxy-endpoint it is no driver: connections to its socket are joined with those to a port, behind which a test is the driver.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"path"
	"strings"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

type settings struct {
	name, node, endpoint, folder, proxy string
	attach, topology, expandOnNode      bool
	checkLifecycle, modify              bool
	mutable                             string
	mostVolumes, attachLimit            int64
}

func parse() settings {
	s := settings{}
	flag.StringVar(&s.name, "drivername", "hostpath.csi.k8s.io", "name of the driver")
	flag.StringVar(&s.node, "nodeid", "", "name of the node")
	flag.StringVar(&s.endpoint, "endpoint", "/csi/csi.sock", "the driver's socket")
	flag.StringVar(&s.folder, "statedir", "/csi-data-dir", "where volumes are kept")
	flag.StringVar(&s.proxy, "proxy-endpoint", "", "tcp://:PORT to be a proxy")
	flag.BoolVar(&s.attach, "enable-attach", false, "volumes are attached")
	flag.BoolVar(&s.topology, "enable-topology", true, "volumes are of this node")
	flag.BoolVar(&s.expandOnNode, "node-expand-required", true, "volumes grow on the node, too")
	flag.BoolVar(&s.checkLifecycle, "check-volume-lifecycle", false, "refuse calls out of order")
	flag.BoolVar(&s.modify, "enable-controller-modify-volume", false, "volumes have attributes that can change")
	flag.StringVar(&s.mutable, "accepted-mutable-parameter-names", "", "names of such attributes")
	flag.Int64Var(&s.mostVolumes, "maxvolumespernode", 0, "volumes on the node; 0 is no limit")
	flag.Int64Var(&s.attachLimit, "attach-limit", 0, "the same")
	flag.Bool("enable-snapshot-metadata", false, "is ignored")
	flag.Int("v", 0, "verbosity, which is ignored")
	flag.Parse()
	s.endpoint = "/" + strings.TrimLeft(strings.TrimPrefix(s.endpoint, "unix:"), "/")
	return s
}

// One line for each call, which tests of the suite read.
func logCall(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	response, err := handler(ctx, request)
	call := struct {
		Method            string
		Request, Response any
		Error             string
		FullError         *spb.Status
	}{Method: info.FullMethod, Request: request, Response: response}
	if err != nil {
		call.Error, call.FullError = err.Error(), status.Convert(err).Proto()
	}
	if text, failed := json.Marshal(call); failed == nil && path.Base(info.FullMethod) != "Probe" {
		log.Printf("gRPCCall: %s", text)
	}
	return response, err
}

func listen(network, address string) net.Listener {
	listener, err := net.Listen(network, address)
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

func main() {
	s := parse()
	os.Remove(s.endpoint)
	listener := listen("unix", s.endpoint)
	if s.proxy != "" {
		join(listener, listen("tcp", strings.TrimPrefix(s.proxy, "tcp://")))
	}
	d, err := newDriver(s)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(logCall))
	csi.RegisterIdentityServer(server, d)
	csi.RegisterControllerServer(server, d)
	csi.RegisterGroupControllerServer(server, d)
	csi.RegisterNodeServer(server, d)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-ended
		server.Stop()
	}()
	if err := server.Serve(listener); err != nil {
		log.Fatal(err)
	}
}
