#include <algorithm>

#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

/// Prefers nodes that already store the pod's images; an image counts for less while few nodes have it, so that one node is
/// not flooded.
class ImageLocality final : public Plugin {
public:
    std::string_view name() const override { return "ImageLocality"; }
    std::int64_t weight() const override { return 1; }

    bool pre_score(const PodInfo& pod, const Cluster& cluster, std::span<const NodeInfo* const>) override {
        images_.clear();
        nodes_ = static_cast<double>(cluster.nodes().size());
        containers_ = static_cast<std::int64_t>(pod.container_count);
        for (const std::string& name : pod.images) {
            if (const ImageInfo* image = cluster.find_image(name)) images_.push_back(image);
        }
        return !images_.empty();
    }
    std::int64_t score(const NodeInfo& node) override {
        std::int64_t sum = 0;
        for (const ImageInfo* image : images_) {
            const auto here = image->size_on_slot.find(node.slot());
            if (here == image->size_on_slot.end()) continue;
            const double spread = static_cast<double>(image->size_on_slot.size()) / nodes_;
            sum += static_cast<std::int64_t>(static_cast<double>(here->second) * spread);
        }
        constexpr std::int64_t Mebibyte = 1 << 20;
        constexpr std::int64_t Low = 23 * Mebibyte;
        const std::int64_t high = 1000 * Mebibyte * containers_;
        return MaxScore * (std::clamp(sum, Low, high) - Low) / (high - Low);
    }

private:
    std::vector<const ImageInfo*> images_;
    double nodes_ = 1;
    std::int64_t containers_ = 1;
};

}  // namespace

std::unique_ptr<Plugin> make_image_locality(const Handle&) { return std::make_unique<ImageLocality>(); }

}  // namespace porthole::scheduler
