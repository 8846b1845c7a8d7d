#include "kubelet/images/image_gc.h"

#include "base/result.h"

#include <algorithm>

namespace porthole::kubelet {

Task<> ImageGc::look() {
    CO_TRY(const auto images, co_await images_.list_images({}));
    CO_TRY(const auto containers, co_await runtime_.list_containers({}));
    std::set<std::string> used = mounted_();
    for (const cri::Container& container : containers.containers) {
        used.insert(container.image_ref);
        used.insert(container.image_id);
        if (container.image) used.insert(container.image->image);
    }
    const MonotonicTime now = loop_.now();
    std::map<std::string, Record> seen;
    for (const cri::Image& image : images.images) {
        const auto before = records_.find(image.id);
        Record record = before == records_.end() ? Record{.first_seen = now} : before->second;
        record.size = image.size;
        const auto named = [&](const std::string& name) { return used.contains(name); };
        const auto kept = [&](const std::string& name) { return std::ranges::find(policy_.kept, name) != policy_.kept.end(); };
        record.pinned = image.pinned || std::ranges::any_of(image.repo_tags, kept);
        record.in_use = used.contains(image.id) || std::any_of(image.repo_tags.begin(), image.repo_tags.end(), named) ||
                        std::any_of(image.repo_digests.begin(), image.repo_digests.end(), named);
        if (record.in_use) record.last_used = now;
        seen[image.id] = record;
    }
    records_ = std::move(seen);
    co_return {};
}

Task<> ImageGc::collect() {
    CO_TRY_VOID(co_await look());
    CO_TRY(const FileSystemUsage disk, files_.usage(disk_));
    if (disk.capacity == 0) co_return {};
    const std::uint64_t used_percent = 100 - disk.available * 100 / disk.capacity;
    if (used_percent < static_cast<std::uint64_t>(policy_.high_percent)) co_return {};
    const std::uint64_t wanted = disk.capacity / 100 * static_cast<std::uint64_t>(100 - policy_.low_percent);
    const std::uint64_t to_free = wanted > disk.available ? wanted - disk.available : 0;
    CO_TRY(const std::uint64_t freed, co_await remove_unused(to_free));
    if (freed >= to_free) co_return {};
    co_return Error(Reason::Io, "Failed to garbage collect required amount of images. Attempted to free " + std::to_string(to_free) +
                                    " bytes, but only found " + std::to_string(freed) + " bytes eligible to free.");
}

Task<std::uint64_t> ImageGc::remove_unused(std::uint64_t bytes_wanted) {
    CO_TRY_VOID(co_await look());
    std::vector<std::pair<MonotonicTime, std::string>> candidates;
    for (const auto& [id, record] : records_)
        if (!record.in_use && !record.pinned && loop_.now() - record.first_seen >= policy_.min_age)
            candidates.emplace_back(record.last_used, id);
    std::sort(candidates.begin(), candidates.end());
    std::uint64_t freed = 0;
    for (const auto& [last_used, id] : candidates) {
        if (freed >= bytes_wanted) break;
        cri::RemoveImageRequest request;
        request.image.emplace().image = id;
        auto removed = co_await images_.remove_image(std::move(request));
        if (is_cancelled(removed)) co_return std::move(removed).error();
        if (!removed) {
            log_.warn("image cannot be removed", {{"image", id}, {"error", removed.error().message}});
            continue;
        }
        log_.info("image removed", {{"image", id}, {"bytes", records_[id].size}});
        freed += records_[id].size;
        records_.erase(id);
    }
    co_return freed;
}

}  // namespace porthole::kubelet
