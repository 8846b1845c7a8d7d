#pragma once
#include "kubelet/container/inputs.h"
#include "kubelet/pod/pod.h"
#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// The part of a list of all sandboxes and containers that concerns one pod: enough to detect changes, and to end a pod that no source
/// names.
struct PodSighting {
    std::string uid, name, namespace_;
    std::map<std::string, int> states;  ///< of every sandbox and container, by id
    bool has_running = false;           ///< a ready sandbox or a running container

    bool operator==(const PodSighting&) const = default;
};

/// Reads the runtime's state. Errors: the runtime's.
class StateReader {
public:
    StateReader(RuntimeService& runtime, FileSystem& files, Platform platform) : runtime_(runtime), files_(files), platform_(platform) {}

    /// Everything of one pod. The message of an ended container is its own termination message. On Windows the meaning of its exit code is
    /// added, in front of the end of its log or if it wrote nothing.
    Task<PodRuntimeState> read(std::string uid);
    /// All pods, by uid, with two calls of the runtime.
    Task<std::map<std::string, PodSighting>> list();

private:
    void add_termination_message(cri::ContainerStatus& container);
    std::string explanation(const cri::ContainerStatus& container, bool with_log);
    std::string log_tail(const cri::ContainerStatus& container);

    RuntimeService& runtime_;
    FileSystem& files_;
    Platform platform_;
};

/// The last `bytes` and `lines` of a container's log, without timestamps.
std::string last_log_lines(std::string_view log, std::size_t bytes, std::size_t lines);

}  // namespace porthole::kubelet
