#include "objects/csi_volume.h"

#include "net/tls/crypto.h"

namespace porthole::objects {

namespace {

constexpr std::string_view Prefix = "kubernetes.io/csi/";
constexpr char Separator = '^';

}  // namespace

std::string unique_volume_name(const std::string& driver, const std::string& handle) {
    return std::string(Prefix) + driver + Separator + handle;
}

std::optional<CsiVolumeName> parse_unique_volume_name(std::string_view name) {
    if (!name.starts_with(Prefix)) return std::nullopt;
    name.remove_prefix(Prefix.size());
    const std::size_t separator = name.find(Separator);  // which no driver's name contains
    if (separator == std::string_view::npos) return std::nullopt;
    return CsiVolumeName{std::string(name.substr(0, separator)), std::string(name.substr(separator + 1))};
}

std::string attachment_name(const std::string& driver, const std::string& handle, const std::string& node) {
    return "csi-" + net::sha256_hex(handle + driver + node);
}

}  // namespace porthole::objects
