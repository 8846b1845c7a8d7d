#include "winhost/images/content/image_source.h"

#include "net/tls/crypto.h"

namespace porthole::winhost {

Result<ImagePlan> make_plan(std::string config_text, std::vector<LayerPlan> layers, const HostPlatform& host) {
    ImagePlan plan{.id = "sha256:" + net::sha256_hex(config_text)};
    TRY(plan.description, parse_image_config(config_text));
    TRY_VOID(check_platform(plan.description.config, host));
    const auto& diff_ids = plan.description.diff_ids;
    if (diff_ids.size() != layers.size()) {
        return Error(Reason::Invalid,
                     "the manifest has " + std::to_string(layers.size()) + " layers, the configuration " + std::to_string(diff_ids.size()));
    }
    bool still_base = true;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        layers[i].diff_id = diff_ids[i];
        // Windows' own layers are the lowest ones; a foreign layer further up could only be an odd copy of one.
        still_base = still_base && (i < plan.description.base_layers || layers[i].blob.is_foreign());
        layers[i].is_base = still_base;
        layers[i].is_whole_image = layers.size() == 1;
        if (!still_base) plan.size += layers[i].blob.size;
    }
    plan.layers = std::move(layers);
    plan.config_text = std::move(config_text);
    return plan;
}

}  // namespace porthole::winhost
