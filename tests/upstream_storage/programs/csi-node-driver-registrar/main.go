// Registers a CSI driver at the kubelet, in place of upstream's program of that name, whose module no registry carries: serves the kubelet's
// registration service on a socket in /registration until it is told to end.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

type registrar struct {
	registration.UnimplementedRegistrationServer
	name, endpoint string
}

func (r *registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{Type: registration.CSIPlugin, Name: r.name, Endpoint: r.endpoint, SupportedVersions: []string{"1.0.0"}}, nil
}

// As upstream's, it ends when the kubelet refuses the driver, so that its container is started again.
func (r *registrar) NotifyRegistrationStatus(_ context.Context, status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if !status.PluginRegistered {
		log.Fatalf("the kubelet refused the driver: %s", status.Error)
	}
	return &registration.RegistrationStatusResponse{}, nil
}

// The driver starts at the same time: asks until it answers.
func driverName(socket string, limit time.Duration) string {
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		info, err := csi.NewIdentityClient(connection).GetPluginInfo(ctx, &csi.GetPluginInfoRequest{}, grpc.WaitForReady(true))
		cancel()
		if err == nil {
			return info.Name
		}
		log.Print(err)
		time.Sleep(time.Second)
	}
}

func main() {
	address := flag.String("csi-address", "/csi/csi.sock", "the driver's socket, as this container sees it")
	path := flag.String("kubelet-registration-path", "", "the driver's socket, as the kubelet sees it")
	folder := flag.String("plugin-registration-path", "/registration", "the kubelet's folder of registrations, as this container sees it")
	limit := flag.Duration("timeout", 10*time.Second, "of a call")
	flag.Int("v", 0, "verbosity, which is ignored")
	flag.Parse()

	name := driverName(*address, *limit)
	socket := filepath.Join(*folder, name+"-reg.sock")
	os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	registration.RegisterRegistrationServer(server, &registrar{name: name, endpoint: *path})
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-ended
		server.Stop() // removes the socket, too: so the kubelet knows
	}()
	if err := server.Serve(listener); err != nil {
		log.Fatal(err)
	}
}
