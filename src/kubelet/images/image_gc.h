#pragma once
#include <functional>
#include <set>

#include "base/log.h"
#include "client/events.h"
#include "kubelet/cri/cri.h"
#include "runtime/event_loop.h"
#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// Removes unused images once the disk is fuller than the high threshold, until it is below the low one; images that were used longest ago
/// first. Images used by a container or a volume, pinned and kept images, and those first seen less than `min_age` ago stay. `disk` is a
/// path on the images' disk; references must outlive it.
class ImageGc {
public:
    struct Policy {
        int high_percent = 85, low_percent = 80;
        Duration min_age = std::chrono::minutes(2);
        std::vector<std::string> kept;  ///< names of images that stay though no container uses them: the sandboxes' own
    };
    /// `mounted` returns the names of the images that volumes use.
    ImageGc(
        EventLoop& loop, RuntimeService& runtime, ImageService& images, FileSystem& files, Logger log, std::string disk, Policy policy,
        std::function<std::set<std::string>()> mounted = [] { return std::set<std::string>(); })
        : loop_(loop),
          runtime_(runtime),
          images_(images),
          files_(files),
          log_(std::move(log)),
          disk_(std::move(disk)),
          policy_(policy),
          mounted_(std::move(mounted)) {}

    /// Checks once. Error: Io if the disk is full and nothing can be removed (worth an event on the node).
    Task<> collect();
    /// Removes enough unused images, regardless of the thresholds; returns the number of bytes.
    Task<std::uint64_t> remove_unused(std::uint64_t bytes_wanted);

private:
    struct Record {
        MonotonicTime first_seen{}, last_used{};
        std::uint64_t size = 0;
        bool pinned = false, in_use = false;
    };
    Task<> look();

    EventLoop& loop_;
    RuntimeService& runtime_;
    ImageService& images_;
    FileSystem& files_;
    Logger log_;
    std::string disk_;
    Policy policy_;
    std::function<std::set<std::string>()> mounted_;
    std::map<std::string, Record> records_;  // by image id
};

}  // namespace porthole::kubelet
