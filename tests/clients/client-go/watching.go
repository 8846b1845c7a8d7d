package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	toolswatch "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/workqueue"
)

func (w *World) informers() informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(w.clients, 0, informers.WithNamespace(w.namespace))
}

func informerSeesEveryChangeOnce(w *World) error {
	maps := w.clients.CoreV1().ConfigMaps(w.namespace)
	if _, err := maps.Create(w, configMap("before", nil), create); err != nil {
		return err
	}
	var lock sync.Mutex
	var seen []string
	note := func(verb string, object any) {
		lock.Lock()
		defer lock.Unlock()
		if found := object.(*corev1.ConfigMap); found.Labels["check"] != "" {
			seen = append(seen, verb+" "+found.Name)
		}
	}
	factory := w.informers()
	informer := factory.Core().V1().ConfigMaps().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { note("add", object) },
		UpdateFunc: func(_, object any) { note("update", object) },
		DeleteFunc: func(object any) { note("delete", object) }})
	if err != nil {
		return err
	}
	factory.Start(w.Done())
	if !cache.WaitForCacheSync(w.Done(), informer.HasSynced) {
		return errors.New("the informer's cache was not filled")
	}
	fresh, err := maps.Create(w, configMap("after", nil), create)
	if err != nil {
		return err
	}
	fresh.Data = map[string]string{"k": "v"}
	if _, err := maps.Update(w, fresh, update); err != nil {
		return err
	}
	if err := maps.Delete(w, "after", remove); err != nil {
		return err
	}
	want := "[add before add after update after delete after]"
	err = w.eventually("the deletion is seen", func() (bool, error) {
		lock.Lock()
		defer lock.Unlock()
		return len(seen) >= 4, nil
	})
	lock.Lock()
	defer lock.Unlock()
	return errors.Join(err, expect(fmt.Sprint(seen) == want, "saw %v", seen))
}

// What happened between a list and the watch that follows it is not lost.
func watchGoesOnWhereAListEnded(w *World) error {
	maps := w.clients.CoreV1().ConfigMaps(w.namespace)
	list, err := maps.List(w, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if _, err := maps.Create(w, configMap("followed", nil), create); err != nil {
		return err
	}
	follower, err := toolswatch.NewRetryWatcherWithContext(w, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return maps.Watch(ctx, options)
		}})
	if err != nil {
		return err
	}
	defer follower.Stop()
	select {
	case event := <-follower.ResultChan():
		if found, ok := event.Object.(*corev1.ConfigMap); !ok || found.Name != "followed" || event.Type != watch.Added {
			return fmt.Errorf("the first event is %v", event)
		}
	case <-w.Done():
		return errors.New("no event in time")
	}
	return nil
}

// The usual shape of a controller: informer, work queue, one worker. It gives every ConfigMap that wants one a Secret.
func controllerKeepsWhatItsObjectsAskFor(w *World) error {
	factory := w.informers()
	wanted, made := factory.Core().V1().ConfigMaps(), factory.Core().V1().Secrets()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	enqueue := func(object any) {
		if deleted, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = deleted.Obj
		}
		queue.Add(object.(metav1.Object).GetName())
	}
	handlers := cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, object any) { enqueue(object) }, DeleteFunc: enqueue}
	if _, err := wanted.Informer().AddEventHandler(handlers); err != nil {
		return err
	}
	if _, err := made.Informer().AddEventHandler(handlers); err != nil {
		return err
	}
	factory.Start(w.Done())
	factory.WaitForCacheSync(w.Done())

	secrets := w.clients.CoreV1().Secrets(w.namespace)
	reconcile := func(name string) error {
		owner, err := wanted.Lister().ConfigMaps(w.namespace).Get(name)
		if err != nil || owner.Data["secret"] == "" {
			return nil
		}
		if _, err := made.Lister().Secrets(w.namespace).Get(name); err == nil {
			return nil
		}
		_, err = secrets.Create(w, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}},
			StringData: map[string]string{"value": owner.Data["secret"]}}, create)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	go func() {
		for {
			name, stop := queue.Get()
			if stop {
				return
			}
			if err := reconcile(name); err != nil {
				queue.AddRateLimited(name)
			} else {
				queue.Forget(name)
			}
			queue.Done(name)
		}
	}()
	defer queue.ShutDown()

	maps := w.clients.CoreV1().ConfigMaps(w.namespace)
	if _, err := maps.Create(w, configMap("asks", map[string]string{"secret": "s3"}), create); err != nil {
		return err
	}
	exists := func(yes bool) func() (bool, error) {
		return func() (bool, error) {
			found, err := secrets.Get(w, "asks", get)
			if apierrors.IsNotFound(err) {
				return !yes, nil
			}
			return err == nil && yes && string(found.Data["value"]) == "s3", err
		}
	}
	if err := w.eventually("the secret is made", exists(true)); err != nil {
		return err
	}
	if err := secrets.Delete(w, "asks", remove); err != nil {
		return err
	}
	if err := w.eventually("the lost secret is made again", exists(true)); err != nil {
		return err
	}
	if err := maps.Delete(w, "asks", remove); err != nil {
		return err
	}
	return w.eventually("the secret goes with its owner", exists(false))
}

func leadershipPassesOn(w *World) error {
	leaders := make(chan string, 4)
	campaign := func(name string) (stop context.CancelFunc) {
		ctx, cancel := context.WithCancel(w)
		lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: "led", Namespace: w.namespace}, Client: w.clients.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name}}
		go leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{Lock: lock, ReleaseOnCancel: true, LeaseDuration: 4 * time.Second,
			RenewDeadline: 3 * time.Second, RetryPeriod: 200 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { leaders <- name }, OnStoppedLeading: func() {}}})
		return cancel
	}
	next := func(want string) error {
		select {
		case leader := <-leaders:
			return expect(leader == want, "%s leads, not %s", leader, want)
		case <-w.Done():
			return fmt.Errorf("%s does not lead in time", want)
		}
	}
	stopFirst := campaign("first")
	if err := next("first"); err != nil {
		return err
	}
	defer campaign("second")()
	select {
	case leader := <-leaders:
		return fmt.Errorf("%s leads beside the first", leader)
	case <-time.After(time.Second):
	}
	stopFirst()
	return next("second")
}

func eventsOfOneThingAreCounted(w *World) error {
	owner, err := w.clients.CoreV1().ConfigMaps(w.namespace).Create(w, configMap("noisy", nil), create)
	if err != nil {
		return err
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: w.clients.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(w); err != nil {
		return err
	}
	defer broadcaster.Shutdown()
	recorder := broadcaster.NewRecorder(scheme.Scheme, "porthole-check")
	for range 3 {
		recorder.Eventf(owner, nil, corev1.EventTypeWarning, "Noise", "Shouting", "it is loud")
	}
	return w.eventually("one event with a series", func() (bool, error) {
		list, err := w.clients.EventsV1().Events(w.namespace).List(w, metav1.ListOptions{FieldSelector: "reason=Noise"})
		if err != nil || len(list.Items) == 0 {
			return false, err
		}
		if len(list.Items) > 1 {
			return false, fmt.Errorf("%d events", len(list.Items))
		}
		return isSeries(&list.Items[0]), nil
	})
}

func isSeries(event *eventsv1.Event) bool {
	return event.Series != nil && event.Series.Count >= 2 && event.Regarding.Name == "noisy" && event.Action == "Shouting"
}
