// An operator as kubebuilder lays one out: a kind of its own in two versions, a reconciler, and webhooks that default, check and convert.
//
// It runs as a pod of the cluster that it serves. POD_NAME and POD_NAMESPACE say where; the certificate of its webhooks is in /certs.
package main

import (
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(); err != nil {
		ctrl.Log.Error(err, "the operator ends")
		os.Exit(1)
	}
}

func run() error {
	scheme, namespace := runtime.NewScheme(), os.Getenv("POD_NAMESPACE")
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	addToScheme(scheme)
	lease, renew, retry := 6*time.Second, 4*time.Second, time.Second
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                  scheme,
		Cache:                   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics:                 server.Options{BindAddress: ":8080"},
		HealthProbeBindAddress:  ":8081",
		WebhookServer:           webhook.NewServer(webhook.Options{Port: 9443, CertDir: "/certs"}),
		LeaderElection:          true,
		LeaderElectionID:        group,
		LeaderElectionNamespace: namespace,
		LeaseDuration:           &lease,
		RenewDeadline:           &renew,
		RetryPeriod:             &retry,
	})
	if err != nil {
		return err
	}
	if err := manager.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("webhooks", manager.GetWebhookServer().StartedChecker()); err != nil {
		return err
	}
	if err := ctrl.NewWebhookManagedBy(manager, &Shop{}).WithDefaulter(rules{}).WithValidator(rules{}).Complete(); err != nil {
		return err
	}
	reconciler := &reconciler{Client: manager.GetClient(), recorder: manager.GetEventRecorder("shops"), pod: os.Getenv("POD_NAME")}
	err = ctrl.NewControllerManagedBy(manager).For(&Shop{}).Owns(&appsv1.Deployment{}).Owns(&corev1.Service{}).Complete(reconciler)
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
