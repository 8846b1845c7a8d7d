#include "hns/wire/host_file.h"

#include <charconv>

#include "schema/json/json.h"

namespace porthole::hns::wire {

Result<HostFile> parse_host_file(const std::string& json) {
    TRY(const schema::Value tree, schema::parse_json(json));
    const auto text = [&](std::string_view name) { return std::string(schema::at(tree, name).string_or("")); };
    HostFile file{text("hns"), text("cri"), text("token"), text("csi")};
    if (file.token.empty()) return Error(Reason::BadRequest, "the file holds no token");
    return file;
}

std::string write_host_file(const HostFile& file) {
    schema::Value tree = schema::Value::object({{"hns", file.hns}, {"cri", file.cri}, {"token", file.token}});
    if (!file.csi.empty()) tree["csi"] = file.csi;
    return schema::to_json(tree) + "\n";
}

Result<HostAndPort> parse_host_and_port(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    HostAndPort result;
    if (colon != std::string::npos && colon > 0) {
        result.host = text.substr(0, colon);
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, result.port);
        if (error == std::errc() && stop == end && result.port != 0) return result;
    }
    return Error(Reason::BadRequest, "\"" + text + "\" is not a valid address and port");
}

}  // namespace porthole::hns::wire
