#include "cni/plugin/request.h"

#include <algorithm>

#include "base/strings.h"
#include "cni/plugin/errors.h"
#include "schema/json/json.h"

namespace porthole::cni {

using schema::Value;

namespace {

std::size_t rank(std::string_view version) {
    const auto& all = supported_versions();
    return static_cast<std::size_t>(std::ranges::find(all, version) - all.begin());
}

bool is_name(std::string_view text) {
    const auto letter = [](unsigned char c) { return std::isalnum(c) != 0; };
    return !text.empty() && letter(static_cast<unsigned char>(text[0])) &&
           std::ranges::all_of(text, [&](unsigned char c) { return letter(c) || c == '_' || c == '.' || c == '-'; });
}

/// Interface names go into paths and kernel calls.
bool is_interface(std::string_view text) {
    return text != "." && text != ".." &&
           std::ranges::none_of(text, [](unsigned char c) { return c == '/' || c == ':' || std::isspace(c) != 0; });
}

/// Where in `text` reading stops making sense: the longest start that is not wrong yet.
std::string position_of_error(std::string_view text) {
    // The parser names no position, so cut the text shorter until it complains of nothing but its end.
    std::size_t low = 0, high = text.size();
    const auto ends_early = [&](std::size_t size) {
        const auto parsed = schema::parse_json(text.substr(0, size));
        return parsed || parsed.error().message.find("unexpected end") != std::string::npos;
    };
    while (low < high) {
        const std::size_t middle = (low + high + 1) / 2;
        if (ends_early(middle))
            low = middle;
        else
            high = middle - 1;
    }
    const std::string_view before = text.substr(0, low);
    const auto line = std::ranges::count(before, '\n') + 1;
    const std::size_t newline = before.rfind('\n');
    const std::size_t column = newline == before.npos ? low + 1 : low - newline;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

Result<schema::Value> parse_config(std::string_view text) {
    auto parsed = schema::parse_json(text);
    if (!parsed) {
        const bool comment = text.find("\n#") != text.npos || text.find("//") != text.npos || text.find(" #") != text.npos;
        return cni_error(CniCode::Decode, "the network configuration is not valid JSON: " + position_of_error(text) + ": " +
                                              parsed.error().message + (comment ? " (JSON does not allow comments)" : ""));
    }
    if (!parsed->is_object()) return cni_error(CniCode::Decode, "the network configuration must be a JSON object");
    return *std::move(parsed);
}

Result<void> read_environment(const std::map<std::string, std::string>& environment, char path_separator, CniRequest& request) {
    const auto value = [&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? std::string() : found->second;
    };
    request.command = value("CNI_COMMAND");
    request.container_id = value("CNI_CONTAINERID");
    request.netns = value("CNI_NETNS");
    request.interface = value("CNI_IFNAME");
    request.path = split_nonempty(value("CNI_PATH"), path_separator);
    for (const auto& [name, text] : environment) {
        if (name.starts_with("CNI_")) request.environment[name] = text;
    }
    for (const std::string& pair : split_nonempty(value("CNI_ARGS"), ';')) {
        const std::size_t equals = pair.find('=');
        if (equals == pair.npos) return cni_error(CniCode::InvalidEnvironment, "CNI_ARGS: invalid pair \"" + pair + "\"");
        request.arguments[pair.substr(0, equals)] = pair.substr(equals + 1);
    }
    return {};
}

Result<void> require_variables(const CniRequest& request) {
    std::string missing;
    const auto need = [&](const char* name, const std::string& value, std::initializer_list<const char*> commands) {
        const bool needed = std::ranges::find(commands, request.command) != commands.end();
        if (needed && value.empty()) missing.append(missing.empty() ? "" : ",").append(name);
    };
    need("CNI_CONTAINERID", request.container_id, {"ADD", "DEL", "CHECK"});
    need("CNI_NETNS", request.netns, {"ADD", "CHECK"});
    need("CNI_IFNAME", request.interface, {"ADD", "DEL", "CHECK"});
    if (!missing.empty()) return cni_error(CniCode::InvalidEnvironment, "required env variables [" + missing + "] missing");
    if (!request.container_id.empty() && !is_name(request.container_id))
        return cni_error(CniCode::InvalidEnvironment,
                         "CNI_CONTAINERID \"" + request.container_id + "\" contains characters that are not valid in an ID");
    if (!is_interface(request.interface))
        return cni_error(CniCode::InvalidEnvironment, "CNI_IFNAME \"" + request.interface + "\" is not a valid interface name");
    return {};
}

Result<void> check_command(const CniRequest& request) {
    static const std::map<std::string_view, std::string_view> since{
        {"ADD", "0.1.0"}, {"DEL", "0.1.0"}, {"CHECK", "0.4.0"}, {"STATUS", "1.1.0"}, {"GC", "1.1.0"}};
    const auto command = since.find(request.command);
    if (command == since.end()) return cni_error(CniCode::InvalidEnvironment, "unknown CNI_COMMAND: " + request.command);
    if (!request.version_at_least(command->second)) {
        return cni_error(CniCode::IncompatibleVersion, "config version does not allow " + request.command + ": it is " + request.version +
                                                           ", the command came with " + std::string(command->second));
    }
    return {};
}

}  // namespace

const std::vector<std::string>& supported_versions() {
    static const std::vector<std::string> versions{"0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"};
    return versions;
}

bool CniRequest::version_at_least(std::string_view other) const { return rank(version) >= rank(other); }

Result<CniRequest> read_request(const std::map<std::string, std::string>& environment, std::string_view config, char path_separator) {
    CniRequest request;
    TRY_VOID(read_environment(environment, path_separator, request));
    if (request.command.empty()) return cni_error(CniCode::InvalidEnvironment, "required env variables [CNI_COMMAND] missing");
    TRY(request.config, parse_config(config));
    request.network = request.config.string_at({"name"});
    request.version = request.config.string_at({"cniVersion"});
    if (request.version.empty()) request.version = "0.1.0";
    if (rank(request.version) == supported_versions().size()) {
        return cni_error(CniCode::IncompatibleVersion, "incompatible CNI versions; config is \"" + request.version +
                                                           "\", plugin supports 0.1.0 to " + supported_versions().back());
    }
    TRY_VOID(check_command(request));
    TRY_VOID(require_variables(request));
    if (!is_name(request.network)) {
        return cni_error(CniCode::InvalidConfig,
                         request.network.empty() ? "missing network name" : "invalid characters found in network name " + request.network);
    }
    return request;
}

const Value& member(const Value& value, std::string_view name) {
    if (!value.is_object()) return schema::null_value();
    for (const auto& [key, found] : value.as_object()) {
        if (equal_ignoring_case(key, name)) return found;
    }
    return schema::null_value();
}

}  // namespace porthole::cni
