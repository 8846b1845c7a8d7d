// Answers /healthz with what a CSI driver's Probe says, in place of upstream's program of that name, whose module no registry carries.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

func main() {
	address := flag.String("csi-address", "/csi/csi.sock", "the driver's socket")
	port := flag.Int("health-port", 9808, "of /healthz")
	limit := flag.Duration("probe-timeout", time.Second, "of a probe")
	flag.Int("v", 0, "verbosity, which is ignored")
	flag.Parse()

	connection, err := grpc.NewClient("unix://"+*address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/healthz", func(answer http.ResponseWriter, request *http.Request) {
		ctx, cancel := context.WithTimeout(request.Context(), *limit)
		defer cancel()
		response, err := csi.NewIdentityClient(connection).Probe(ctx, &csi.ProbeRequest{})
		if err != nil || (response.GetReady() != nil && !response.GetReady().GetValue()) {
			http.Error(answer, fmt.Sprintf("not ready: %v", err), http.StatusInternalServerError)
		}
	})
	log.Fatal(http.ListenAndServe(fmt.Sprintf(":%d", *port), nil))
}
