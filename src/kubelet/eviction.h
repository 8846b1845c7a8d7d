#pragma once
#include "kubelet/images/image_gc.h"
#include "kubelet/node/host.h"
#include "kubelet/pod_manager.h"
#include "kubelet/storage_usage.h"

namespace porthole::kubelet {

/// How full the node may get before pods are evicted.
struct EvictionThresholds {
    std::int64_t memory_available = 100ll << 20;  ///< bytes; 0 for no eviction for memory, as on Windows
    double disk_available = 0.10, inodes_free = 0.05;
    Duration transition = std::chrono::minutes(5);  ///< how long a condition stays after the pressure is over
};

/// Ends pods that wrote more than their limits of emptyDirs and ephemeral-storage allow. Watches memory and disk; under pressure first
/// removes images, then ends one pod at a time: those that use more than their requests first, then by priority, then by how much more.
/// Critical pods stay. References must outlive run().
class Eviction {
public:
    struct Services {
        EventLoop& loop;
        Host& host;
        FileSystem& files;
        RuntimeService& runtime;
        PodManager& pods;
        ImageGc& images;
        const StorageUsage& storage;
        client::EventRecorder& events;
        Logger log;
    };
    /// `disk` is a path on the file system that is watched.
    Eviction(Services services, std::string disk, EvictionThresholds thresholds);

    /// Checks every ten seconds, until cancelled.
    Task<> run();
    bool memory_pressure() const { return memory_.holds; }
    bool disk_pressure() const { return disk_.holds; }

private:
    struct Pressure {
        bool now = false, holds = false;
        MonotonicTime last_seen{};
    };
    void note(Pressure& pressure, bool now);
    Task<> look();
    Task<> evict_for_limits();
    std::string exceeded_limit(const core::Pod& pod, const std::map<std::string, std::uint64_t>& layers) const;
    /// Bytes of the writable layer of each container, by pod and name; of the newest with that name.
    Task<std::map<std::string, std::map<std::string, std::uint64_t>>> writable_layers();
    bool is_spared(const core::Pod& pod) const;
    void evict(const core::Pod& pod, const std::string& message);
    Task<> evict_for_memory(std::int64_t available);
    Task<> evict_for_disk(std::uint64_t available, std::uint64_t wanted);
    Task<std::map<std::string, std::int64_t>> memory_by_pod();
    void evict_one(const std::map<std::string, std::int64_t>& usage, const char* resource, const std::string& text);

    Services services_;
    std::string disk_path_;
    EvictionThresholds thresholds_;
    Pressure memory_, disk_;
};

}  // namespace porthole::kubelet
