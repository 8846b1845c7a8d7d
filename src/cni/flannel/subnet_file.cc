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

Error wrong(const char* key, const std::string& value) {
    return Error(Reason::BadRequest, "subnet.env: " + std::string(key) + "=\"" + value + "\" makes no sense");
}

}  // namespace

std::string to_text(const SubnetFile& file) {
    return "FLANNEL_NETWORK=" + file.network.to_string() + "\nFLANNEL_SUBNET=" + file.subnet.base().plus(1).to_string() + "/" +
           std::to_string(file.subnet.length()) + "\nFLANNEL_MTU=" + std::to_string(file.mtu) +
           "\nFLANNEL_IPMASQ=" + (file.ip_masq ? "true" : "false") + "\n";
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
    const std::string& mtu = pairs["FLANNEL_MTU"];
    const auto [end, error] = std::from_chars(mtu.data(), mtu.data() + mtu.size(), file.mtu);
    if (error != std::errc() || end != mtu.data() + mtu.size() || file.mtu <= 0) return wrong("FLANNEL_MTU", mtu);
    file.ip_masq = pairs["FLANNEL_IPMASQ"] == "true";
    return file;
}

}  // namespace porthole::cni::flannel
