#include "cni/flannel/network_config.h"

#include "schema/json/json.h"

namespace porthole::cni::flannel {

namespace {

// Windows' VXLAN: nothing else is to be had there, so every node of a mixed cluster has these.
constexpr std::int64_t LowestVni = 4096, HighestVni = (1 << 24) - 1, OnlyPort = 4789;

}  // namespace

const char* to_string(Backend backend) {
    switch (backend) {
        case Backend::HostGateway:
            return "host-gw";
        case Backend::Vxlan:
            return "vxlan";
        case Backend::Alloc:
            return "alloc";
    }
    return "";
}

std::optional<Backend> find_backend(std::string_view name) {
    for (const Backend backend : {Backend::HostGateway, Backend::Vxlan, Backend::Alloc})
        if (name == to_string(backend)) return backend;
    return std::nullopt;
}

Result<NetworkConfig> parse_network_config(std::string_view json) {
    TRY(const schema::Value document, schema::parse_json(json));
    NetworkConfig config;
    const std::string_view network = document.string_at({"Network"});
    auto prefix = IpPrefix::parse(network);
    if (!prefix) return Error(Reason::BadRequest, "Network \"" + std::string(network) + "\" is not a valid address range");
    if (prefix->base().is_v6()) return Error(Reason::BadRequest, "Network " + prefix->to_string() + ": Windows nodes need an IPv4 network");
    config.network = *prefix;

    const std::string_view type = document.string_at({"Backend", "Type"});
    const auto known = find_backend(type);
    if (!known)
        return Error(Reason::BadRequest,
                     "Backend.Type \"" + std::string(type) + "\" is not host-gw, vxlan or alloc, which nodes of both systems have");
    config.backend = *known;
    const schema::Value& backend = schema::at(document, "Backend");
    const std::int64_t vni = schema::at(backend, "VNI").int_or(LowestVni), port = schema::at(backend, "Port").int_or(OnlyPort);
    if (config.backend == Backend::Vxlan && (vni < LowestVni || vni > HighestVni))
        return Error(Reason::BadRequest, "Backend.VNI " + std::to_string(vni) +
                                             ": VXLAN with Windows nodes needs 4096 (or higher, up to 16777215) on every node");
    if (config.backend == Backend::Vxlan && port != OnlyPort)
        return Error(Reason::BadRequest,
                     "Backend.Port " + std::to_string(port) + ": VXLAN with Windows nodes needs UDP port 4789 on every node");
    if (config.backend == Backend::Vxlan && schema::at(backend, "DirectRouting").bool_or(false))
        return Error(Reason::BadRequest, "Backend.DirectRouting is not supported with Windows nodes");
    config.vni = static_cast<std::uint32_t>(vni);
    config.name = backend.string_at({"Name"});
    if (config.name.empty()) config.name = config.backend == Backend::Vxlan ? "flannel." + std::to_string(config.vni) : "cbr0";
    return config;
}

int overhead(Backend backend) { return backend == Backend::Vxlan ? 50 : 0; }

}  // namespace porthole::cni::flannel
