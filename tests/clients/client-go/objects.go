package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"check": "client-go"}}, Data: data}
}

func discoveryMapsKindsToResources(w *World) error {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(w.clients.Discovery()))
	for kind, resource := range map[schema.GroupKind]string{
		{Kind: "Pod"}: "pods", {Group: "apps", Kind: "StatefulSet"}: "statefulsets", {Group: "batch", Kind: "CronJob"}: "cronjobs",
		{Group: "discovery.k8s.io", Kind: "EndpointSlice"}: "endpointslices", {Group: "storage.k8s.io", Kind: "CSIDriver"}: "csidrivers"} {
		mapping, err := mapper.RESTMapping(kind)
		if err != nil {
			return err
		}
		if err := expect(mapping.Resource.Resource == resource, "%v is %s", kind, mapping.Resource.Resource); err != nil {
			return err
		}
	}
	version, err := w.clients.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	return expect(version.Major == "1", "server version %v", version)
}

func staleWritesAreRefused(w *World) error {
	maps := w.clients.CoreV1().ConfigMaps(w.namespace)
	first, err := maps.Create(w, configMap("contended", map[string]string{"n": "0"}), create)
	if err != nil {
		return err
	}
	second := first.DeepCopy()
	first.Data["n"] = "1"
	if _, err := maps.Update(w, first, update); err != nil {
		return err
	}
	second.Data["n"] = "2"
	if _, err := maps.Update(w, second, update); !apierrors.IsConflict(err) {
		return fmt.Errorf("a stale write was answered with %v", err)
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		fresh, err := maps.Get(w, "contended", get)
		if err != nil {
			return err
		}
		fresh.Data["n"] = "2"
		_, err = maps.Update(w, fresh, update)
		return err
	})
	if err != nil {
		return err
	}
	if _, err := maps.Create(w, configMap("contended", nil), create); !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("a second one of the same name was answered with %v", err)
	}
	wrong := types.UID("00000000-0000-0000-0000-000000000000")
	err = maps.Delete(w, "contended", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	return expect(apierrors.IsConflict(err), "a delete of another UID was answered with %v", err)
}

func longListsComeInPages(w *World) error {
	maps := w.clients.CoreV1().ConfigMaps(w.namespace)
	const count = 25
	for i := range count {
		if _, err := maps.Create(w, configMap(fmt.Sprintf("page-%02d", i), nil), create); err != nil {
			return err
		}
	}
	pages, seen := 0, map[string]bool{}
	list := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		pages++
		options.LabelSelector = "check=client-go"
		return maps.List(ctx, options)
	})
	list.PageSize = 10
	err := list.EachListItem(w, metav1.ListOptions{}, func(object runtime.Object) error {
		seen[object.(*corev1.ConfigMap).Name] = true
		return nil
	})
	if err != nil {
		return err
	}
	return expect(pages == 3 && len(seen) == count, "%d pages with %d objects", pages, len(seen))
}

func protobufCarriesTheSameObject(w *World) error {
	config := rest.CopyConfig(w.config)
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"
	binary, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	grace := int64(7)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "carried", Annotations: map[string]string{"ü": "€"}},
		Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "porthole.test/never"}}, TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{Name: "main", Image: w.image, Env: []corev1.EnvVar{{Name: "A", Value: "b"}}}}}}
	// The annotation's key is not legal: the error must come back in protobuf too.
	if _, err := binary.CoreV1().Pods(w.namespace).Create(w, pod, create); !apierrors.IsInvalid(err) {
		return fmt.Errorf("a wrong annotation was answered with %v", err)
	}
	pod.Annotations = map[string]string{"u": "€"}
	if _, err := binary.CoreV1().Pods(w.namespace).Create(w, pod, create); err != nil {
		return err
	}
	asBinary, err := binary.CoreV1().Pods(w.namespace).Get(w, "carried", get)
	if err != nil {
		return err
	}
	asJson, err := w.clients.CoreV1().Pods(w.namespace).Get(w, "carried", get)
	if err != nil {
		return err
	}
	return expect(asBinary.Spec.String() == asJson.Spec.String() && *asJson.Spec.TerminationGracePeriodSeconds == 7 && asJson.Annotations["u"] == "€",
		"as protobuf %v, as JSON %v", asBinary, asJson)
}

func metadataComesWithoutTheRest(w *World) error {
	if _, err := w.clients.CoreV1().ConfigMaps(w.namespace).Create(w, configMap("light", map[string]string{"heavy": "data"}), create); err != nil {
		return err
	}
	client, err := metadata.NewForConfig(w.config)
	if err != nil {
		return err
	}
	found, err := client.Resource(configMaps).Namespace(w.namespace).Get(w, "light", get)
	if err != nil {
		return err
	}
	if err := expect(found.UID != "" && found.Labels["check"] == "client-go", "got %v", found); err != nil {
		return err
	}
	return client.Resource(configMaps).Namespace(w.namespace).DeleteCollection(w, remove, metav1.ListOptions{LabelSelector: "check=client-go"})
}

func applyTellsOwnersOfFieldsApart(w *World) error {
	maps := w.clients.CoreV1().ConfigMaps(w.namespace)
	apply := func(manager, key, value string, force bool) error {
		_, err := maps.Apply(w, corev1apply.ConfigMap("shared", w.namespace).WithData(map[string]string{key: value}),
			metav1.ApplyOptions{FieldManager: manager, Force: force})
		return err
	}
	if err := apply("one", "a", "1", false); err != nil {
		return err
	}
	if err := apply("two", "b", "2", false); err != nil {
		return err
	}
	if err := apply("two", "a", "3", false); !apierrors.IsConflict(err) {
		return fmt.Errorf("another's field was answered with %v", err)
	}
	if err := apply("two", "a", "3", true); err != nil {
		return err
	}
	// "two" no longer speaks of b: it goes. The dynamic client reads what the typed one wrote.
	found, err := w.dynamic.Resource(configMaps).Namespace(w.namespace).Get(w, "shared", get)
	if err != nil {
		return err
	}
	data, _, err := unstructured.NestedStringMap(found.Object, "data")
	if err != nil {
		return err
	}
	return expect(len(data) == 1 && data["a"] == "3", "data is %v", data)
}

func scaleAndEvictionAreSubresources(w *World) error {
	labels := map[string]string{"app": "scaled"}
	one, zero := int32(1), int64(0)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "scaled"},
		Spec: appsv1.DeploymentSpec{Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: w.podSpec("sleep 1000")}}}
	deployments, pods := w.clients.AppsV1().Deployments(w.namespace), w.clients.CoreV1().Pods(w.namespace)
	if _, err := deployments.Create(w, deployment, create); err != nil {
		return err
	}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		scale, err := deployments.GetScale(w, "scaled", get)
		if err != nil {
			return err
		}
		scale.Spec.Replicas = 2
		_, err = deployments.UpdateScale(w, "scaled", scale, update)
		return err
	})
	if err != nil {
		return err
	}
	var first string
	err = w.eventually("two pods run", func() (bool, error) {
		list, err := pods.List(w, metav1.ListOptions{LabelSelector: "app=scaled", FieldSelector: "status.phase=Running"})
		if err != nil || len(list.Items) != 2 {
			return false, err
		}
		first = list.Items[0].Name
		return true, nil
	})
	if err != nil {
		return err
	}
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: first}, DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: &zero}}
	if err := pods.EvictV1(w, eviction); err != nil {
		return err
	}
	return w.eventually("the evicted pod is gone", func() (bool, error) {
		_, err := pods.Get(w, first, get)
		return apierrors.IsNotFound(err), nil
	})
}

func tokensSayWhoOneIs(w *World) error {
	seconds := int64(600)
	token, err := w.clients.CoreV1().ServiceAccounts(w.namespace).CreateToken(w, "default",
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, create)
	if err != nil {
		return err
	}
	config := rest.AnonymousClientConfig(w.config)
	config.BearerToken = token.Status.Token
	as, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	review, err := as.AuthenticationV1().SelfSubjectReviews().Create(w, &authenticationv1.SelfSubjectReview{}, create)
	if err != nil {
		return err
	}
	if user := review.Status.UserInfo.Username; user != "system:serviceaccount:"+w.namespace+":default" {
		return fmt.Errorf("the token is %s's", user)
	}
	_, err = as.CoreV1().Secrets(w.namespace).List(w, metav1.ListOptions{})
	return expect(apierrors.IsForbidden(err), "secrets were answered with %v", err)
}
