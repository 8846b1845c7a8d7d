#pragma once
#include "base/flag_set.h"
#include "kubelet/kubelet.h"

namespace porthole::kubelet {

/// The command line of a stand-alone kubelet, with upstream's names and defaults.
struct KubeletOptions {
    std::string kubeconfig, config_file;
    std::string hostname_override, node_ip, provider_id;
    std::string runtime_endpoint;  ///< unix:///run/… or npipe:////./pipe/…
    std::string root_directory = "/var/lib/kubelet";
    std::string pod_log_directory = "/var/log/pods";
    std::string pod_manifest_path;
    std::string sandbox_image;
    std::string volume_plugin_directory;  ///< of FlexVolume drivers
    std::string resolv_conf;
    std::vector<std::string> cluster_dns;
    std::string cluster_domain = "cluster.local";
    std::string address = "0.0.0.0";
    std::int64_t port = 10250, max_pods = 110;
    std::string healthz_address = "127.0.0.1";
    std::int64_t healthz_port = 10248;  ///< 0: not served
    std::int64_t pod_max_pids = -1;     ///< processes and threads of one pod (Linux)
    std::int64_t user_ids_per_pod = UserNamespaces::Unit;
    bool seccomp_default = false, protect_kernel_defaults = false;
    std::int64_t event_qps = 50, event_burst = 100;
    std::string streaming_idle_timeout = "4h0m0s";
    std::string client_ca_file, tls_cert_file, tls_private_key_file;
    std::string tls_min_version;
    std::vector<std::string> tls_cipher_suites;
    bool enable_debugging_handlers = true, cgroups_per_qos = true, serialize_image_pulls = true, fail_swap_on = true;
    bool system_log_query = false;
    bool rotate_certificates = true;  ///< where the identity is one that `join` has written
    std::string cgroup_root;
    std::vector<std::string> enforce_node_allocatable;
    std::map<std::string, std::string> node_labels, kube_reserved, system_reserved, feature_gates;
    std::vector<std::string> taints, eviction_hard, eviction_soft;
    std::int64_t image_gc_high = 85, image_gc_low = 80;  ///< percent of the disk
    std::string container_log_max_size = "10Mi";
    std::int64_t container_log_max_files = 5, max_parallel_image_pulls = 1;
    std::int64_t verbosity = 0;
    std::string log_directory, log_file;
    bool log_to_stderr = true;
    bool windows_service = false;
    std::string windows_priority_class = "NORMAL_PRIORITY_CLASS";
    std::vector<std::string> warnings;
};

/// Defaults of the system, then the file that --config names, then the flags. Error: BadRequest with one line that helps.
Result<KubeletOptions> parse_kubelet_options(const std::vector<std::string>& arguments, bool windows, FileSystem& files);

/// The flags that are equivalent to a KubeletConfiguration (kubelet.config.k8s.io/v1beta1, YAML or JSON); fields without effect here are
/// added to `warnings`. Error: BadRequest, also for unknown fields.
Result<std::vector<std::string>> flags_of_configuration(const std::string& text, std::vector<std::string>& warnings);

/// The value of --streaming-connection-idle-timeout; 0 means KubeletConfig::NeverIdle. Error: BadRequest.
Result<Duration> idle_timeout(const std::string& text);

/// The kubelet's settings from its options. Error: BadRequest for invalid quantities, taints and thresholds.
Result<KubeletConfig> make_kubelet_config(const KubeletOptions& options, bool windows);

/// The priority class's number for SetPriorityClass. Error: BadRequest, listing the names.
Result<std::uint32_t> priority_class(const std::string& name);

/// The help text of the kubelet's flags.
std::string kubelet_flags_help(bool windows);

}  // namespace porthole::kubelet
