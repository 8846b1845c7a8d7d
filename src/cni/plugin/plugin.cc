#include "cni/plugin/plugin.h"

#include "base/result.h"
#include "cni/plugin/errors.h"
#include "schema/json/json.h"

namespace porthole::cni {

namespace {

using schema::Value;

constexpr const char* NewestVersion = "1.1.0";

std::string error_document(const Error& error, const std::string& version) {
    return schema::to_pretty_json(Value::object({{"cniVersion", version}, {"code", code_of(error)}, {"msg", error.message}})) + "\n";
}

std::string version_document(std::string_view input) {
    Value versions = Value::array();
    for (const std::string& version : supported_versions()) versions.as_array().push_back(version);
    const auto asked = schema::parse_json(input);
    const std::string version(asked ? asked->string_at({"cniVersion"}) : "");
    return schema::to_json(Value::object({{"cniVersion", version.empty() ? NewestVersion : version}, {"supportedVersions", versions}})) +
           "\n";
}

Task<std::string> answer(Plugin& plugin, CniRequest request) {
    if (request.command == "ADD") {
        const std::string version = request.version;
        CO_TRY(const CniResult result, co_await plugin.add(std::move(request)));
        co_return schema::to_pretty_json(to_value(result, version)) + "\n";
    }
    if (request.command == "DEL") {
        CO_TRY_VOID(co_await plugin.remove(std::move(request)));
    } else if (request.command == "CHECK") {
        CO_TRY_VOID(co_await plugin.check(std::move(request)));
    } else if (request.command == "STATUS") {
        CO_TRY_VOID(co_await plugin.status(std::move(request)));
    } else {
        CO_TRY_VOID(co_await plugin.collect(std::move(request)));
    }
    co_return std::string();
}

}  // namespace

Task<CniOutput> serve_cni(Plugin& plugin, std::map<std::string, std::string> environment, std::string input, char path_separator) {
    if (environment["CNI_COMMAND"] == "VERSION") co_return CniOutput{version_document(input)};
    auto request = read_request(environment, input, path_separator);
    if (!request) {
        const auto config = schema::parse_json(input);
        std::string version(config ? config->string_at({"cniVersion"}) : "");
        co_return CniOutput{error_document(request.error(), version.empty() ? NewestVersion : version), 1};
    }
    const std::string version = request->version;
    auto text = co_await answer(plugin, *std::move(request));
    if (is_cancelled(text)) co_return text.error();
    if (!text) co_return CniOutput{error_document(text.error(), version), 1};
    co_return CniOutput{*std::move(text)};
}

std::vector<std::pair<std::string, std::string>> valid_attachments(const CniRequest& request) {
    std::vector<std::pair<std::string, std::string>> valid;
    const Value* list = request.config.find("cni.dev/valid-attachments");
    if (!list || !list->is_array()) return valid;
    for (const Value& item : list->as_array()) {
        valid.emplace_back(std::string(item.string_at({"containerID"})), std::string(item.string_at({"ifname"})));
    }
    return valid;
}

}  // namespace porthole::cni
