#include "cni/flannel/subnet_file.h"

#include <charconv>
#include <map>

namespace porthole::cni::flannel {

namespace {

std::map<std::string, std::string> read_pairs(std::string_view text) {
    std::map<std::string, std::string> pairs;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        const std::size_t equals = line.find('=');
        if (equals != line.npos) pairs[std::string(line.substr(0, equals))] = line.substr(equals + 1);
    }
    return pairs;
}

/// "10.244.3.1/24"
std::string first_address(const IpPrefix& subnet) { return subnet.base().plus(1).to_string() + "/" + std::to_string(subnet.length()); }

Error wrong(const char* key, const std::string& value) {
    return Error(Reason::BadRequest, "subnet.env: " + std::string(key) + "=\"" + value + "\" is not valid");
}

}  // namespace

std::string to_text(const SubnetFile& file) {
    std::string text = "FLANNEL_NETWORK=" + file.network.to_string() + "\nFLANNEL_SUBNET=" + first_address(file.subnet) + "\n";
    if (file.network_v6 && file.subnet_v6)
        text += "FLANNEL_IPV6_NETWORK=" + file.network_v6->to_string() + "\nFLANNEL_IPV6_SUBNET=" + first_address(*file.subnet_v6) + "\n";
    return text + "FLANNEL_MTU=" + std::to_string(file.mtu) + "\nFLANNEL_IPMASQ=" + (file.ip_masq ? "true" : "false") + "\n";
}

Result<SubnetFile> parse_subnet_file(std::string_view text) {
    auto pairs = read_pairs(text);
    SubnetFile file;
    const auto network = IpPrefix::parse(pairs["FLANNEL_NETWORK"]);
    if (!network) return wrong("FLANNEL_NETWORK", pairs["FLANNEL_NETWORK"]);
    const auto subnet = IpPrefix::parse(pairs["FLANNEL_SUBNET"]);
    if (!subnet) return wrong("FLANNEL_SUBNET", pairs["FLANNEL_SUBNET"]);
    file.network = *network;
    file.subnet = *subnet;
    if (!pairs["FLANNEL_IPV6_NETWORK"].empty()) {
        const auto network_v6 = IpPrefix::parse(pairs["FLANNEL_IPV6_NETWORK"]), subnet_v6 = IpPrefix::parse(pairs["FLANNEL_IPV6_SUBNET"]);
        if (!network_v6) return wrong("FLANNEL_IPV6_NETWORK", pairs["FLANNEL_IPV6_NETWORK"]);
        if (!subnet_v6) return wrong("FLANNEL_IPV6_SUBNET", pairs["FLANNEL_IPV6_SUBNET"]);
        file.network_v6 = *network_v6;
        file.subnet_v6 = *subnet_v6;
    }
    const std::string& mtu = pairs["FLANNEL_MTU"];
    const auto [end, error] = std::from_chars(mtu.data(), mtu.data() + mtu.size(), file.mtu);
    if (error != std::errc() || end != mtu.data() + mtu.size() || file.mtu <= 0) return wrong("FLANNEL_MTU", mtu);
    file.ip_masq = pairs["FLANNEL_IPMASQ"] == "true";
    return file;
}

}  // namespace porthole::cni::flannel
