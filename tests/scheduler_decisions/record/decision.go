package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// A verdict of the filters on a node: the plugin, its status code and its reasons.
type verdict struct {
	Plugin  string   `json:"plugin"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"` // sorted, for those of resources come in any order
}

// A nomination is a way out that preemption chose; of equal ones it takes any.
type nomination struct {
	Node    string   `json:"node"`
	Victims []string `json:"victims"`
}

type decision struct {
	Rejected map[string]verdict `json:"rejected,omitempty"` // by node; without those that a PreFilter has excluded
	Feasible []string           `json:"feasible,omitempty"` // in the order of the scores
	Scores   map[string][]int64 `json:"scores,omitempty"`   // by plugin, normalized, without weight; of two or more nodes
	Message  string             `json:"message,omitempty"`  // of the event, if no node fits
	Error    bool               `json:"error,omitempty"`    // the message is that of an error

	Nominations []nomination `json:"nominations,omitempty"`
	weights     map[string]int64
}

// world is a scheduler whose API forgets what it writes.
type world struct {
	client    *fake.Clientset
	scheduler *scheduler.Scheduler
	framework framework.Framework

	mutex   sync.Mutex
	deleted []string
}

func newWorld(ctx context.Context, objects []runtime.Object) (*world, error) {
	w := &world{client: fake.NewClientset(objects...)}
	w.client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		gone := action.(clienttesting.DeleteAction)
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.deleted = append(w.deleted, gone.GetNamespace()+"/"+gone.GetName())
		return true, nil, nil
	})
	w.client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, &v1.Pod{}, nil })

	factory := scheduler.NewInformerFactory(w.client, 0)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: w.client.EventsV1()})
	made, err := scheduler.New(ctx, w.client, factory, nil, profile.NewRecorderFactory(broadcaster))
	if err != nil {
		return nil, err
	}
	w.scheduler = made
	w.framework = made.Profiles[v1.DefaultSchedulerName]
	if w.framework == nil {
		return nil, errors.New("no default profile")
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := made.WaitForHandlersSync(ctx); err != nil {
		return nil, err
	}
	// Those of single plugins cannot be waited for.
	time.Sleep(30 * time.Millisecond)
	return w, nil
}

func (w *world) decide(ctx context.Context, namespace, name string) (*decision, error) {
	pod, err := w.framework.SharedInformerFactory().Core().V1().Pods().Lister().Pods(namespace).Get(name)
	if err != nil {
		return nil, err
	}
	snapshot, ok := w.framework.SnapshotSharedLister().(*internalcache.Snapshot)
	if !ok {
		return nil, fmt.Errorf("the snapshot is a %T", w.framework.SnapshotSharedLister())
	}
	if err := w.scheduler.Cache.UpdateSnapshot(klog.FromContext(ctx), snapshot); err != nil {
		return nil, err
	}
	result := &decision{weights: map[string]int64{}}
	for _, plugin := range w.framework.ListPlugins().Score.Enabled {
		result.weights[plugin.Name] = int64(plugin.Weight)
	}
	if err := w.judge(ctx, pod, result); err != nil {
		return nil, err
	}
	return result, w.conclude(ctx, pod, result)
}

// judge asks filters and scores about every node.
func (w *world) judge(ctx context.Context, pod *v1.Pod, result *decision) error {
	nodes, err := w.framework.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return err
	}
	state := framework.NewCycleState()
	only, status, _ := w.framework.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		return nil
	}
	var feasible []fwk.NodeInfo
	// The node that the pod is nominated for is the only one, if it fits.
	if nominated, err := w.framework.SnapshotSharedLister().NodeInfos().Get(pod.Status.NominatedNodeName); err == nil {
		if w.framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, nominated).IsSuccess() {
			nodes = []fwk.NodeInfo{nominated}
		}
	}
	for _, node := range nodes {
		name := node.Node().Name
		if !only.AllNodes() && !only.NodeNames.Has(name) {
			continue
		}
		status := w.framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		if status.Code() == fwk.Error {
			return nil
		}
		if status.IsSuccess() {
			feasible = append(feasible, node)
			result.Feasible = append(result.Feasible, name)
			continue
		}
		if result.Rejected == nil {
			result.Rejected = map[string]verdict{}
		}
		result.Rejected[name] = verdict{status.Plugin(), status.Code().String(), sorted(status.Reasons())}
	}
	if len(feasible) < 2 {
		return nil
	}
	if status := w.framework.RunPreScorePlugins(ctx, state, pod, feasible); !status.IsSuccess() {
		return status.AsError()
	}
	scores, status := w.framework.RunScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		return status.AsError()
	}
	result.Scores = map[string][]int64{}
	for _, node := range scores {
		for _, score := range node.Scores {
			result.Scores[score.Name] = append(result.Scores[score.Name], score.Score/result.weights[score.Name])
		}
	}
	return nil
}

// conclude runs whole cycles: several, because preemption chooses among equal nodes at random.
func (w *world) conclude(ctx context.Context, pod *v1.Pod, result *decision) error {
	const Attempts = 12
	seen := map[string]bool{}
	for range Attempts {
		info, err := framework.NewPodInfo(pod.DeepCopy())
		if err != nil {
			return err
		}
		state := framework.NewCycleState()
		state.Write(framework.PodsToActivateKey, framework.NewPodsToActivate())
		_, failure := w.scheduler.SchedulePod(ctx, w.framework, state, &framework.QueuedPodInfo{PodInfo: info})
		if failure == nil {
			return nil
		}
		var unfit *framework.FitError
		if !errors.As(failure, &unfit) {
			result.Message = failure.Error()
			result.Error = failure != scheduler.ErrNoNodesAvailable
			return nil
		}
		w.mutex.Lock()
		w.deleted = nil
		w.mutex.Unlock()
		helped, status := w.framework.RunPostFilterPlugins(ctx, state, pod, unfit.Diagnosis.NodeToStatus)
		unfit.Diagnosis.PostFilterMsg = status.Message()
		if result.Message != "" && result.Message != unfit.Error() {
			return fmt.Errorf("two messages: %s; %s", result.Message, unfit.Error())
		}
		result.Message = unfit.Error()
		if helped == nil || helped.NominatedNodeName == "" {
			return nil
		}
		w.mutex.Lock()
		way := nomination{helped.NominatedNodeName, sorted(w.deleted)}
		w.mutex.Unlock()
		if !seen[text(way)] {
			seen[text(way)] = true
			result.Nominations = append(result.Nominations, way)
		}
	}
	return nil
}
