package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	metrics "sigs.k8s.io/kwok/kustomize/metrics/resource"
	usage "sigs.k8s.io/kwok/kustomize/metrics/usage"
	node "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	pod "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

func runKwok() error {
	// The other programs in this binary have registered global flags, among them a --version that would make kwok exit.
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ContinueOnError)
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ := log.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err != nil {
		return err
	}
	command := cmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	return command.ExecuteContext(ctx)
}

// printKwokConfig prints what kwok ships with itself: nodes are Ready and pods Running at once, Jobs complete, deleted
// pods go, and usage is read from annotations.
func printKwokConfig() error {
	documents := []string{
		node.DefaultNodeInit,
		heartbeat.DefaultNodeHeartbeatWithLease,
		pod.DefaultPodReady,
		pod.DefaultPodComplete,
		pod.DefaultPodDelete,
		metrics.DefaultMetricsResource,
		usage.DefaultUsageFromAnnotation,
	}
	_, err := fmt.Println(strings.Join(documents, "\n---\n"))
	return err
}
