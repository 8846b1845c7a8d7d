// Files of an administrator's CNI configuration, and what the plugins that they name have printed.
#include <cstdint>
#include <cstdlib>

#include "schema/json/json.h"
#include "winhost/host/cni_config.h"

using namespace porthole;
using namespace porthole::winhost;

namespace {

PodAttachment some_pod() {
    PodAttachment pod{.sandbox_id = "s", .namespace_id = "8a1b5d3e-0000-0000-0000-000000000001", .config = {}};
    pod.config.metadata.emplace();
    pod.config.dns_config.emplace();
    pod.config.dns_config->servers = {"10.96.0.10"};
    pod.config.port_mappings.push_back({.container_port = 80, .host_port = 4444});
    return pod;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    if (plugin_failure(text, "", 1).empty()) std::abort();
    const auto document = schema::parse_json(text);
    if (document) {
        if (const auto addresses = read_plugin_result(*document); addresses && addresses->addresses.empty()) std::abort();
    }
    const auto network = CniNetworkConfig::parse(text);
    if (!network) return 0;
    for (std::size_t i = 0; i < network->plugins.size(); ++i) {
        const auto input = schema::parse_json(make_plugin_input(*network, i, some_pod(), *document));
        if (!input || input->string_at({"name"}) != network->name || input->string_at({"type"}) != network->type(i)) std::abort();
    }
    return 0;
}
