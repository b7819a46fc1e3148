// Command controlplane is every program of a Kubernetes control plane in one binary: it runs the one whose name it is
// called by. The tests link it as etcd, kube-apiserver, … and start them on loopback.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // CronJobs with a time zone

	etcd "go.etcd.io/etcd/server/v3/etcdmain"
	genericserver "k8s.io/apiserver/pkg/server"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // credential plugins of kubectl
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // the metrics of every client
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	metricsserver "sigs.k8s.io/metrics-server/cmd/metrics-server/app"
)

// programs maps the name of each program to what runs it; an error is printed and ends it with status 1.
var programs = map[string]func() error{
	"etcd":                    func() error { etcd.Main(os.Args); return nil },
	"kube-apiserver":          func() error { return exit(cli.Run(apiserver.NewAPIServerCommand())) },
	"kube-controller-manager": func() error { return exit(cli.Run(controllermanager.NewControllerManagerCommand())) },
	"kube-scheduler":          func() error { return exit(cli.Run(scheduler.NewSchedulerCommand())) },
	"kubectl":                 runKubectl,
	"kwok":                    runKwok,
	"kwok-config":             printKwokConfig,
	"metrics-server":          runMetricsServer,
}

func main() {
	name := filepath.Base(os.Args[0])
	program, known := programs[name]
	if !known {
		fmt.Fprintf(os.Stderr, "call me by one of these names: %s\n", strings.Join(names(), " "))
		os.Exit(2)
	}
	if os.Getenv("EXIT_WITH_STDIN") != "" {
		go exitWithStdin()
	}
	if err := program(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func names() []string {
	var all []string
	for name := range programs {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// exitWithStdin ends the program when the other end of its standard input closes: a test run that was killed leaves
// nothing behind.
func exitWithStdin() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

// exit passes a command's own status on: it has said already what went wrong.
func exit(status int) error {
	if status != 0 {
		os.Exit(status)
	}
	return nil
}

func runKubectl() error {
	// As kubectl's own main does: plugins and preferences are read, and may log, before flags are parsed.
	_, _ = logs.GlogSetter(kubectl.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return nil
}

func runMetricsServer() error {
	logs.InitLogs()
	defer logs.FlushLogs()
	return metricsserver.NewMetricsServerCommand(genericserver.SetupSignalHandler()).Execute()
}
