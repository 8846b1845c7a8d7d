#include "scheduler/configuration/configuration.h"

#include <algorithm>
#include <set>

#include "api/kubescheduler_v1.h"
#include "base/strings.h"
#include "scheduler/configuration/argument_rules.h"
#include "scheduler/configuration/extender_rules.h"
#include "scheduler/configuration/plugin_sets.h"
#include "scheduler/plugins/registry.h"
#include "schema/convert.h"
#include "schema/fields/field_errors.h"
#include "schema/fields/fields.h"
#include "schema/yaml/yaml.h"

namespace porthole::scheduler {

namespace {

namespace file = api::kubescheduler::v1;
using schema::FieldErrors;
using schema::FieldPath;
using schema::Value;

constexpr std::string_view Version = "kubescheduler.config.k8s.io/v1", Kind = "KubeSchedulerConfiguration";
/// Longer back-offs are mistakes, and would not fit into times.
constexpr std::int64_t MostSeconds = 1'000'000'000;

class Reader {
public:
    explicit Reader(const ReadFile& read_file) : read_file_(read_file) {}

    Result<ReadConfiguration> read(std::string_view text) {
        std::vector<schema::DuplicateKey> duplicates;
        TRY(Value tree, schema::parse_yaml(text, &duplicates));
        if (!tree.is_object() || tree.string_at({"apiVersion"}) != Version || tree.string_at({"kind"}) != Kind)
            return Error(Reason::BadRequest, "apiVersion and kind must be " + std::string(Version) + " and " + std::string(Kind) +
                                                 ", not \"" + std::string(tree.string_at({"apiVersion"})) + "\" and \"" +
                                                 std::string(tree.string_at({"kind"})) + "\"");
        for (const schema::DuplicateKey& one : duplicates) lines_.push_back(one.path + ": the field is given twice");
        warn_of_fields_without_effect(tree);
        if (const auto given = decode<file::KubeSchedulerConfiguration>(tree, "")) take(*given);
        for (const Cause& cause : errors_.causes()) lines_.push_back(cause.field + ": " + cause.message);
        if (!lines_.empty()) return Error(Reason::BadRequest, join(lines_, "\n"));
        return ReadConfiguration{std::move(made_), errors_.warnings()};
    }

private:
    /// nullopt if it is not of that type.
    template <class T>
    std::optional<T> decode(Value& tree, const std::string& path) {
        conform(tree, T::schema_type(), path);
        auto decoded = schema::from_value<T>(tree);
        if (decoded) return *std::move(decoded);
        not_of_type(path, decoded.error());
        return std::nullopt;
    }
    /// Refuses unknown fields, and sets defaults.
    void conform(Value& tree, const schema::Type& type, const std::string& path) {
        for (const std::string& unknown : schema::prune(tree, type, true))
            lines_.push_back((path.empty() ? "" : path + ".") + unknown + ": unknown field");
        schema::apply_table_defaults(tree, type);
    }
    void not_of_type(const std::string& path, const Error& error) { lines_.push_back((path.empty() ? "" : path + ": ") + error.message); }

    void warn_of_fields_without_effect(const Value& tree) {
        constexpr std::pair<const char*, const char*> Fields[] = {
            {"parallelism", "one thread decides"},
            {"leaderElection", "the server's own options say who leads"},
            {"clientConnection", "the scheduler is part of the server"},
            {"enableProfiling", "there is no profiling"},
            {"enableContentionProfiling", "there is no profiling"},
            {"delayCacheUntilActive", "a server that stands by follows no objects for the scheduler"},
        };
        for (const auto& [name, why] : Fields)
            if (tree.find(name)) errors_.warn(std::string(name) + " has no effect: " + why);
    }

    void take(const file::KubeSchedulerConfiguration& given) {
        if (const std::int32_t parallelism = given.parallelism.value_or(16); parallelism <= 0)
            errors_.invalid("parallelism", parallelism, "should be an integer value greater than zero");
        check_percentage(given.percentage_of_nodes_to_score, "percentageOfNodesToScore");
        made_.percentage_of_nodes_to_score = given.percentage_of_nodes_to_score.value_or(0);
        const std::int64_t initial = given.pod_initial_backoff_seconds.value_or(1), longest = given.pod_max_backoff_seconds.value_or(10);
        if (initial <= 0) errors_.invalid("podInitialBackoffSeconds", initial, "must be greater than 0");
        if (longest < initial)
            errors_.invalid("podMaxBackoffSeconds", longest, "must be greater than or equal to PodInitialBackoffSeconds");
        else if (longest > MostSeconds)
            errors_.invalid("podMaxBackoffSeconds", longest, "must be less than or equal to 1000000000");
        else
            made_.initial_backoff = std::chrono::seconds(initial), made_.longest_backoff = std::chrono::seconds(longest);
        take_profiles(given.profiles);
        made_.extenders = take_extenders(given.extenders, read_file_, errors_);
        ignore_resources(given.extenders);
    }

    void take_profiles(const std::vector<file::KubeSchedulerProfile>& given) {
        if (given.empty()) return;
        if (given.size() > MostProfiles) return errors_.too_many("profiles", given.size(), MostProfiles);
        made_.profiles.clear();
        std::set<std::string> names;
        for (std::size_t i = 0; i < given.size(); ++i) {
            const FieldPath path = FieldPath("profiles").index(i), name = path.child("schedulerName");
            ProfileConfiguration& profile = made_.profiles.emplace_back();
            // Only a profile that is the only one has a default name.
            profile.scheduler_name = given[i].scheduler_name.value_or(given.size() == 1 ? profile.scheduler_name : "");
            if (profile.scheduler_name.empty()) errors_.required(name);
            if (!names.insert(profile.scheduler_name).second) errors_.duplicate(name, profile.scheduler_name);
            check_percentage(given[i].percentage_of_nodes_to_score, path.child("percentageOfNodesToScore"));
            profile.percentage_of_nodes_to_score = given[i].percentage_of_nodes_to_score;
            if (given[i].plugins) profile.plugins = plugin_uses(*given[i].plugins, path.child("plugins"), errors_);
            for (std::size_t j = 0; j < given[i].plugin_config.size(); ++j)
                take_arguments(given[i].plugin_config[j], path.child("pluginConfig").index(j), profile);
        }
    }

    /// Extenders count them; as upstream, they take precedence over what the profile says.
    void ignore_resources(const std::vector<file::Extender>& extenders) {
        Value ignored = Value::array();
        for (const file::Extender& extender : extenders) {
            for (const file::ExtenderManagedResource& resource : extender.managed_resources)
                if (resource.ignored_by_scheduler) ignored.as_array().emplace_back(resource.name);
        }
        if (ignored.as_array().empty()) return;
        for (ProfileConfiguration& profile : made_.profiles) {
            Value& arguments = profile.arguments["NodeResourcesFit"];
            if (arguments.is_null()) arguments = Value::object();
            arguments["ignoredResources"] = ignored;
        }
    }

    void take_arguments(const file::PluginConfig& given, const FieldPath& path, ProfileConfiguration& profile) {
        const ArgumentRules* rules = find_argument_rules(given.name);
        if (!rules)
            return errors_.invalid(path.child("name"), given.name,
                                   "no plugin of that name takes arguments; those that do are " + plugins_with_arguments());
        if (profile.arguments.contains(given.name)) return errors_.duplicate(path, given.name);
        Value arguments = given.args.is_null() ? Value::object() : given.args;
        const FieldPath at = path.child("args");
        if (!arguments.is_object()) return errors_.type_invalid(at, given.args, "must be an object");
        const std::string kind = given.name + "Args";
        if (arguments.find("kind") && arguments.string_at({"kind"}) != kind)
            return errors_.invalid(at.child("kind"), *arguments.find("kind"), "must be " + kind);
        if (arguments.find("apiVersion") && arguments.string_at({"apiVersion"}) != Version)
            return errors_.invalid(at.child("apiVersion"), *arguments.find("apiVersion"), "must be " + std::string(Version));
        conform(arguments, rules->type(), std::string(at.text()));
        arguments.erase("kind");
        arguments.erase("apiVersion");
        const auto canonical = schema::canonical(rules->type(), arguments);
        if (!canonical) return not_of_type(std::string(at.text()), canonical.error());
        rules->check(arguments, at, errors_);
        profile.arguments.emplace(given.name, std::move(arguments));
    }

    void check_percentage(const std::optional<std::int32_t>& percentage, const FieldPath& path) {
        if (percentage && (*percentage < 0 || *percentage > 100)) errors_.invalid(path, *percentage, "not in valid range [0-100]");
    }

    const ReadFile& read_file_;
    Configuration made_;
    FieldErrors errors_;
    std::vector<std::string> lines_;  // what is wrong beyond these
};

}  // namespace

Result<ReadConfiguration> read_configuration(std::string_view text, const ReadFile& read_file) { return Reader(read_file).read(text); }

}  // namespace porthole::scheduler
