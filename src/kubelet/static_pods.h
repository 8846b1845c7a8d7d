#pragma once
#include "kubelet/pod_manager.h"

namespace porthole::kubelet {

/// Pods from manifests in a directory of the node: run without an API server, and shown in it by mirror pods. Lives on the kubelet's
/// loop; references must outlive it.
class StaticPods {
public:
    /// An empty `directory` means none.
    StaticPods(EventLoop& loop, client::Client& client, FileSystem& files, Logger log, std::string directory, std::string node_name,
               PodManager& pods, StatusManager& statuses);

    /// Reads the directory every two seconds and maintains the mirror pods, until cancelled.
    Task<> run();
    /// Ends after the first read of the directory.
    Task<> wait_for_first_read() { return first_read_.wait(); }

    void observe_mirror(const core::Pod& mirror);
    void drop_mirror(const core::Pod& mirror);

private:
    void read_directory();
    void take(const std::string& path, const std::string& text);
    Task<> keep_mirrors();
    Task<> keep_mirror(std::shared_ptr<const core::Pod> pod);

    EventLoop& loop_;
    client::Client& client_;
    FileSystem& files_;
    Logger log_;
    std::string directory_, node_name_;
    PodManager& pods_;
    StatusManager& statuses_;
    std::map<std::string, std::string> texts_;  ///< by file
    std::map<std::string, std::shared_ptr<const core::Pod>> by_file_;
    std::map<client::NamespacedName, core::Pod> mirrors_;  ///< as the API has them
    std::optional<core::Node> node_;
    Event first_read_;
};

/// The pod of a manifest (YAML or JSON) on this node: the node's name added to its name, a uid computed from its content, defaults set.
/// Error: BadRequest.
Result<core::Pod> parse_static_pod(const std::string& text, const std::string& path, const std::string& node_name);

}  // namespace porthole::kubelet
