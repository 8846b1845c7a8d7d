// What authors of controllers do with client-go, each as one check: `client-go CHECK` against the cluster of KUBECONFIG, in the
// namespace NAMESPACE, with the image IMAGE where a pod is needed. A check that fails says why and ends with 1.
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// World is what every check works with.
type World struct {
	context.Context
	config    *rest.Config
	clients   *kubernetes.Clientset
	dynamic   *dynamic.DynamicClient
	namespace string
	image     string
}

var checks = map[string]func(*World) error{
	"apply":           applyTellsOwnersOfFieldsApart,
	"controller":      controllerKeepsWhatItsObjectsAskFor,
	"discovery":       discoveryMapsKindsToResources,
	"events":          eventsOfOneThingAreCounted,
	"exec":            execRunsInAContainer,
	"forward":         forwardReachesAPort,
	"identity":        tokensSayWhoOneIs,
	"informer":        informerSeesEveryChangeOnce,
	"leader-election": leadershipPassesOn,
	"metadata":        metadataComesWithoutTheRest,
	"optimistic-lock": staleWritesAreRefused,
	"pages":           longListsComeInPages,
	"protobuf":        protobufCarriesTheSameObject,
	"scale":           scaleAndEvictionAreSubresources,
	"watch":           watchGoesOnWhereAListEnded,
}

func main() {
	if len(os.Args) != 2 || checks[os.Args[1]] == nil {
		names := make([]string, 0, len(checks))
		for name := range checks {
			names = append(names, name)
		}
		sort.Strings(names)
		fmt.Fprintf(os.Stderr, "usage: client-go CHECK, one of %v\n", names)
		os.Exit(2)
	}
	if err := run(checks[os.Args[1]]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

func run(check func(*World) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 180*time.Second) // on a busy machine
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 200, 400
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	return check(&World{ctx, config, clients, dynamicClient, os.Getenv("NAMESPACE"), os.Getenv("IMAGE")})
}

// eventually repeats `attempt` until it is true; the context bounds it.
func (w *World) eventually(what string, attempt func() (bool, error)) error {
	for {
		done, err := attempt()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if done {
			return nil
		}
		select {
		case <-w.Done():
			return fmt.Errorf("%s: not in time", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func expect(condition bool, format string, arguments ...any) error {
	if condition {
		return nil
	}
	return fmt.Errorf(format, arguments...)
}

var (
	get    = metav1.GetOptions{}
	create = metav1.CreateOptions{}
	update = metav1.UpdateOptions{}
	remove = metav1.DeleteOptions{}
)
