#include "cni/plugin/delegate.h"

#include "cni/plugin/errors.h"
#include "schema/json/json.h"

namespace porthole::cni {

namespace {

CniRequest with_config(CniRequest request, schema::Value config, std::string command) {
    request.command = command;
    request.environment["CNI_COMMAND"] = std::move(command);
    request.config = std::move(config);
    request.network = request.config.string_at({"name"});
    return request;
}

/// "win-bridge.exe" names the plugin win-bridge.
std::string plain_type(const std::string& type) { return type.ends_with(".exe") ? type.substr(0, type.size() - 4) : type; }

Error error_of(const std::string& type, const CommandOutput& output) {
    if (const auto document = schema::parse_json(output.output)) {
        const schema::Value* code = document->find("code");
        if (code && code->is_int()) {
            const std::string details(document->string_at({"details"}));
            return cni_error(static_cast<CniCode>(code->as_int()),
                             std::string(document->string_at({"msg"})) + (details.empty() ? "" : "; " + details));
        }
    }
    return cni_error(CniCode::Internal, "plugin " + type + " ended with " + std::to_string(output.exit_code) + ": " +
                                            (output.errors.empty() ? output.output : output.errors));
}

}  // namespace

Plugin* Delegates::find_own(const std::string& type) const {
    const auto found = own_.find(plain_type(type));
    return found == own_.end() ? nullptr : found->second;
}

Task<CniResult> Delegates::add_by(std::string type, CniRequest request, schema::Value config) {
    request = with_config(std::move(request), std::move(config), "ADD");
    if (Plugin* own = find_own(type)) co_return co_await own->add(std::move(request));
    CO_TRY(const std::string text, co_await run_program(type, std::move(request)));
    auto document = schema::parse_json(text);
    auto result = document ? read_result(*document) : Result<CniResult>(document.error());
    if (!result) co_return cni_error(CniCode::Internal, "plugin " + type + " gave no result: " + result.error().message);
    co_return *std::move(result);
}

Task<> Delegates::call(std::string type, std::string command, CniRequest request, schema::Value config) {
    request = with_config(std::move(request), std::move(config), command);
    if (Plugin* own = find_own(type)) {
        if (command == "DEL") co_return co_await own->remove(std::move(request));
        if (command == "CHECK") co_return co_await own->check(std::move(request));
        if (command == "STATUS") co_return co_await own->status(std::move(request));
        co_return co_await own->collect(std::move(request));
    }
    CO_TRY_VOID((co_await run_program(type, std::move(request))));
    co_return {};
}

Task<std::string> Delegates::run_program(std::string type, CniRequest request) {
    std::string program, folders;
    for (const std::string& folder : request.path) {
        folders += (folders.empty() ? "" : " ") + folder;
        for (const std::string& name : {type, type + suffix_}) {
            if (program.empty() && files_.exists(join_path(folder, name))) program = join_path(folder, name);
        }
    }
    if (program.empty() || !processes_) {
        co_return cni_error(CniCode::InvalidConfig, "failed to find plugin \"" + type + "\" in path [" + folders + "]");
    }
    Command command{.arguments = {program}, .environment = request.environment, .input = schema::to_json(request.config)};
    CO_TRY(const CommandOutput output, co_await processes_->run(std::move(command)));
    if (output.exit_code != 0) co_return error_of(type, output);
    co_return output.output;
}

}  // namespace porthole::cni
