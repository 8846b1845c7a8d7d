package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	finalizer = group + "/ledger"
	page      = "mkdir -p /tmp/www && echo open > /tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www"
)

type reconciler struct {
	client.Client
	recorder events.EventRecorder
	pod      string
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	shop := &Shop{}
	if err := r.Get(ctx, request.NamespacedName, shop); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !shop.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.close(ctx, shop)
	}
	if controllerutil.AddFinalizer(shop, finalizer) {
		return ctrl.Result{}, r.Update(ctx, shop) // whose event comes back
	}
	deployment, err := r.ensureDeployment(ctx, shop)
	if err == nil {
		err = r.ensureService(ctx, shop)
	}
	if err == nil {
		err = r.report(ctx, shop, deployment.Status.ReadyReplicas)
	}
	return ctrl.Result{}, err
}

// What garbage collection does not do: an entry in a ledger that is no dependent of the shop.
func (r *reconciler) close(ctx context.Context, shop *Shop) error {
	ledger := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "ledger", Namespace: shop.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, ledger, func() error {
		if ledger.Data == nil {
			ledger.Data = map[string]string{}
		}
		ledger.Data[shop.Name] = "closed"
		return nil
	})
	if err != nil || !controllerutil.RemoveFinalizer(shop, finalizer) {
		return err
	}
	return client.IgnoreNotFound(r.Update(ctx, shop))
}

func (r *reconciler) ensureDeployment(ctx context.Context, shop *Shop) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: shop.Name, Namespace: shop.Namespace}}
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		labels, second := map[string]string{"shop": shop.Name}, int64(1)
		deployment.Spec.Replicas = shop.Spec.Replicas
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		pod := &deployment.Spec.Template.Spec
		pod.TerminationGracePeriodSeconds = &second
		if len(pod.Containers) == 0 {
			pod.Containers = []corev1.Container{{Name: "web"}}
		}
		pod.Containers[0].Image, pod.Containers[0].Command = shop.Spec.Image, []string{"sh", "-c", page}
		return controllerutil.SetControllerReference(shop, deployment, r.Scheme())
	})
	if err == nil && result != controllerutil.OperationResultNone {
		r.recorder.Eventf(shop, deployment, corev1.EventTypeNormal, "Deployed", "Reconcile", "deployment %s %s", deployment.Name, result)
	}
	return deployment, err
}

func (r *reconciler) ensureService(ctx context.Context, shop *Shop) error {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: shop.Name, Namespace: shop.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, service, func() error {
		service.Spec.Selector = map[string]string{"shop": shop.Name}
		if len(service.Spec.Ports) == 0 {
			service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		}
		service.Spec.Ports[0].TargetPort = intstr.FromInt32(8080)
		return controllerutil.SetControllerReference(shop, service, r.Scheme())
	})
	return err
}

func (r *reconciler) report(ctx context.Context, shop *Shop, ready int32) error {
	before := copyOf(shop)
	condition := metav1.Condition{Type: "Open", Status: metav1.ConditionFalse, Reason: "PodsMissing", ObservedGeneration: shop.Generation}
	if ready == *shop.Spec.Replicas {
		condition.Status, condition.Reason = metav1.ConditionTrue, "PodsReady"
	}
	changed := meta.SetStatusCondition(&shop.Status.Conditions, condition)
	if !changed && shop.Status.Ready == ready {
		return nil
	}
	shop.Status.Ready, shop.Status.Leader = ready, r.pod
	return r.Status().Patch(ctx, shop, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}
