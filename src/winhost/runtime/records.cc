#include "winhost/runtime/records.h"

#include "schema/json/json.h"

namespace porthole::winhost {
namespace {

using schema::Value;

Value strings(const std::vector<std::string>& texts) {
    schema::Array array;
    for (const std::string& text : texts) array.emplace_back(text);
    return array;
}

std::vector<std::string> strings_of(const Value& value) {
    std::vector<std::string> texts;
    if (value.is_array())
        for (const Value& item : value.as_array()) texts.emplace_back(item.string_or(""));
    return texts;
}

std::string text_of(const Value& value, std::string_view key) { return std::string(schema::at(value, key).string_or("")); }
std::int64_t number_of(const Value& value, std::string_view key) { return schema::at(value, key).int_or(0); }

}  // namespace

// The specification of a program holds zero bytes, and messages may hold anything: JSON escapes them.

bool SandboxRecord::is_host_process() const {
    return config.windows && config.windows->security_context && config.windows->security_context->host_process;
}

std::string SandboxRecord::encode() const {
    return schema::to_json(Value::object({{"id", id},
                                          {"config", schema::encode_json(config)},
                                          {"runtimeHandler", runtime_handler},
                                          {"namespaceId", namespace_id},
                                          {"addresses", strings(addresses)},
                                          {"createdAt", created_at},
                                          {"ready", ready},
                                          {"attached", attached}}));
}

Result<SandboxRecord> SandboxRecord::decode(const std::string& text) {
    TRY(const Value value, schema::parse_json(text));
    SandboxRecord record;
    TRY(record.config, schema::decode_json<cri::PodSandboxConfig>(text_of(value, "config")));
    record.id = text_of(value, "id");
    record.runtime_handler = text_of(value, "runtimeHandler");
    record.namespace_id = text_of(value, "namespaceId");
    record.addresses = strings_of(schema::at(value, "addresses"));
    record.created_at = number_of(value, "createdAt");
    record.ready = schema::at(value, "ready").bool_or(false);
    record.attached = schema::at(value, "attached").bool_or(false);
    return record;
}

std::string ContainerRecord::encode() const {
    return schema::to_json(Value::object({{"id", id},
                                          {"sandboxId", sandbox_id},
                                          {"config", schema::encode_json(config)},
                                          {"imageId", image_id},
                                          {"imageRef", image_ref},
                                          {"imageName", image_name},
                                          {"lowerFolders", strings(lower_folders)},
                                          {"registryFolder", registry_folder},
                                          {"spec", spec},
                                          {"stopEvent", stop_event},
                                          {"startError", start_error},
                                          {"containedUser", contained_user},
                                          {"memoryPerProcess", memory_per_process},
                                          {"createdAt", created_at},
                                          {"startedAt", started_at},
                                          {"finishedAt", finished_at},
                                          {"state", static_cast<std::int64_t>(state)},
                                          {"exitCode", exit_code},
                                          {"reason", reason},
                                          {"message", message}}));
}

Result<ContainerRecord> ContainerRecord::decode(const std::string& text) {
    TRY(const Value value, schema::parse_json(text));
    ContainerRecord record;
    TRY(record.config, schema::decode_json<cri::ContainerConfig>(text_of(value, "config")));
    record.id = text_of(value, "id");
    record.sandbox_id = text_of(value, "sandboxId");
    record.image_id = text_of(value, "imageId");
    record.image_ref = text_of(value, "imageRef");
    record.image_name = text_of(value, "imageName");
    record.lower_folders = strings_of(schema::at(value, "lowerFolders"));
    record.registry_folder = text_of(value, "registryFolder");
    record.spec = text_of(value, "spec");
    record.stop_event = text_of(value, "stopEvent");
    record.start_error = text_of(value, "startError");
    record.contained_user = schema::at(value, "containedUser").bool_or(false);
    record.memory_per_process = static_cast<std::uint64_t>(number_of(value, "memoryPerProcess"));
    record.created_at = number_of(value, "createdAt");
    record.started_at = number_of(value, "startedAt");
    record.finished_at = number_of(value, "finishedAt");
    record.state = static_cast<cri::ContainerState>(number_of(value, "state"));
    record.exit_code = static_cast<std::int32_t>(number_of(value, "exitCode"));
    record.reason = text_of(value, "reason");
    record.message = text_of(value, "message");
    return record;
}

std::string short_id(const std::string& id) { return id.substr(0, 13); }

}  // namespace porthole::winhost
