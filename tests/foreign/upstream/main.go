// The upstream control plane as one program, whose first argument says which part of it runs. It links what upstream's own main
// packages do, so flags, defaults and answers are upstream's; one program instead of four links the shared code once.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
)

func main() {
	name := ""
	if len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = os.Args[1:]
	}
	if err := run(name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(name string) error {
	switch name {
	case "kube-apiserver":
		return execute(apiserver.NewAPIServerCommand())
	case "kube-controller-manager":
		return execute(controllers.NewControllerManagerCommand())
	case "kube-scheduler":
		return execute(scheduler.NewSchedulerCommand())
	case "kubeadm":
		flag.CommandLine = flag.NewFlagSet(name, flag.ExitOnError) // the logs package has filled it with flags that kubeadm adds, too
		return kubeadm.Run()
	}
	return fmt.Errorf("%q is none of kube-apiserver, kube-controller-manager, kube-scheduler, kubeadm", name)
}

func execute(command *cobra.Command) error {
	logs.InitLogs()
	defer logs.FlushLogs()
	return command.Execute()
}
