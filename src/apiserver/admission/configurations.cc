#include "apiserver/admission/plugins.h"
#include "apiserver/outgoing/config_object.h"
#include "base/strings.h"
#include "schema/yaml/yaml.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

constexpr std::size_t LargestFile = 1 << 20;

Result<Value> read_document(FileSystem& files, const std::string& path) {
    auto text = files.read(path, LargestFile);
    if (!text) return std::move(text).error();
    auto document = schema::parse_yaml(*text);
    if (!document) return std::move(document).error().with_context(path);
    return document;
}

Result<AdmissionConfigurations> read_plugins(FileSystem& files, const std::string& path, const Value& document) {
    AdmissionConfigurations found;
    ConfigProblems problems;
    ConfigObject root(document, "", problems);
    for (ConfigObject& plugin : root.objects("plugins")) {
        const std::string name = plugin.text("name"), file = plugin.text("path");
        if (name.empty()) problems.required(plugin.path_of("name"));
        if (plugin.has("configuration")) {
            found[name] = plugin.value("configuration");
        } else if (!file.empty()) {
            TRY(found[name], read_document(files, is_absolute_path(file) ? file : join_path(parent_path(path), file)));
        }
        plugin.finish();
    }
    root.finish();
    TRY_VOID(problems.outcome(path));
    return found;
}

}  // namespace

Result<AdmissionConfigurations> read_admission_configurations(FileSystem& files, const std::string& path) {
    TRY(Value document, read_document(files, path));
    if (!document.find("apiVersion") && !document.find("kind"))
        return AdmissionConfigurations{{"ImagePolicyWebhook", document}, {"PodNodeSelector", std::move(document)}};
    const std::string_view version = document.string_at({"apiVersion"});
    if (document.string_at({"kind"}) != "AdmissionConfiguration" ||
        (version != "apiserver.config.k8s.io/v1" && version != "apiserver.k8s.io/v1alpha1"))
        return Error(Reason::BadRequest, path + ": apiVersion " + quote(version) + " with kind " + quote(document.string_at({"kind"})) +
                                             " is not apiserver.config.k8s.io/v1 with kind AdmissionConfiguration");
    document.erase("apiVersion");
    document.erase("kind");
    return read_plugins(files, path, document);
}

}  // namespace porthole::apiserver
