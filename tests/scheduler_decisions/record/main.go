// record reads clusters, one JSON object a line, from its input, and writes them with what upstream's scheduler decides about their pods:
//
//	{"cluster": "taints", "objects": [{"kind": "Node", …}, …], "pods": [{"kind": "Pod", …}, …]}
//
// Each pod is decided on alone, in the cluster as the objects describe it, by the scheduler of Kubernetes with its default configuration.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
)

type cluster struct {
	Name    string            `json:"cluster"`
	Objects []json.RawMessage `json:"objects"`
	Pods    []json.RawMessage `json:"pods"`
}

// decided is a line of the output; an object is written as it was read.
type decided struct {
	cluster
	Decisions []*decision      `json:"decisions"`
	Weights   map[string]int64 `json:"weights,omitempty"` // of the first line only
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run() error {
	klog.SetOutput(os.Stderr)
	// In turn with the decision, instead of in the background; what is decided is the same.
	if err := utilfeature.DefaultMutableFeatureGate.Set("SchedulerAsyncPreemption=false,SchedulerAsyncAPICalls=false"); err != nil {
		return err
	}
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 64<<20)
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for first := true; input.Scan(); first = false {
		var one cluster
		if err := json.Unmarshal(input.Bytes(), &one); err != nil {
			return err
		}
		line := decided{cluster: one}
		for _, pod := range one.Pods {
			got, err := decideAlone(one.Objects, pod)
			if err != nil {
				return fmt.Errorf("%s: %w: %s", one.Name, err, pod)
			}
			if first {
				line.Weights = got.weights
			}
			line.Decisions = append(line.Decisions, got)
		}
		if err := output.Encode(line); err != nil {
			return err
		}
	}
	return input.Err()
}

// read makes an object, with its name as identifier where it has none.
func read(text json.RawMessage) (runtime.Object, error) {
	decoder := scheme.Codecs.UniversalDeserializer()
	object, _, err := decoder.Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	access, err := meta.Accessor(object)
	if err == nil && access.GetUID() == "" {
		access.SetUID(types.UID(access.GetName()))
	}
	return object, err
}

func decideAlone(objects []json.RawMessage, pod json.RawMessage) (*decision, error) {
	var all []runtime.Object
	for _, text := range append(append([]json.RawMessage{}, objects...), pod) {
		object, err := read(text)
		if err != nil {
			return nil, err
		}
		all = append(all, object)
	}
	access, err := meta.Accessor(all[len(all)-1])
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	world, err := newWorld(ctx, all)
	if err != nil {
		return nil, err
	}
	return world.decide(ctx, access.GetNamespace(), access.GetName())
}

// text shows equal outcomes equally.
func text(value any) string {
	written, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(written)
}

func sorted(names []string) []string {
	sort.Strings(names)
	return names
}
