#include "scheduler/configuration/configuration.h"

#include <gtest/gtest.h>

#include "scheduler/scheduler_fixture.h"

namespace porthole::scheduler {
namespace {

using namespace testing;
using Names = std::vector<std::string>;

const std::string Head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

Configuration read(const std::string& text) { return read_configuration(Head + text).value().configuration; }
/// The lines that say what is wrong; "" for nothing.
std::string refusal(const std::string& text) {
    const auto result = read_configuration(Head + text);
    return result ? "" : result.error().message;
}
Names warnings(const std::string& text) { return read_configuration(Head + text).value().warnings; }

/// "Name=weight" of each, or "Name" for its own weight.
Names uses(const std::string& plugins, Point point) {
    Names names;
    const Configuration configuration = read("profiles:\n- plugins: " + plugins + "\n");
    for (const PluginUse& use : configuration.profiles[0].plugins.value()[static_cast<std::size_t>(point)])
        names.push_back(use.plugin + (use.weight == 0 ? "" : "=" + std::to_string(use.weight)));
    return names;
}
/// Where a pod goes with these arguments of a plugin, in a profile of that plugin alone.
World world_of(const std::string& plugin, const std::string& arguments, const std::string& point) {
    return World(
        read("profiles:\n- plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}]}, " +
             point + ": {enabled: [{name: " + plugin + "}]}}\n  pluginConfig: [{name: " + plugin + ", args: " + arguments + "}]\n"));
}

// ---- the file

TEST(SchedulerConfiguration, HasDefaultsForWhatItDoesNotName) {
    const Configuration configuration = read("");
    ASSERT_EQ(configuration.profiles.size(), 1u);
    EXPECT_EQ(configuration.profiles[0].scheduler_name, "default-scheduler");
    EXPECT_FALSE(configuration.profiles[0].plugins);
    EXPECT_EQ(configuration.initial_backoff, std::chrono::seconds(1));
    EXPECT_EQ(configuration.longest_backoff, std::chrono::seconds(10));
}

TEST(SchedulerConfiguration, RefusesWhatIsNoSuchFile) {
    EXPECT_EQ(read_configuration("apiVersion: v1\nkind: Pod\n").error().message,
              "apiVersion and kind must be kubescheduler.config.k8s.io/v1 and KubeSchedulerConfiguration, not \"v1\" and \"Pod\"");
    EXPECT_FALSE(read_configuration("[1"));
    EXPECT_FALSE(read_configuration(""));
}

TEST(SchedulerConfiguration, RefusesWrongFieldsWithTheirPaths) {
    struct {
        const char *name, *text, *line;
    } const rows[] = {
        {"unknown field", "profile: []", "profile: unknown field"},
        {"unknown field below", "profiles: [{plugin: {}}]", "profiles[0].plugin: unknown field"},
        {"unknown argument", "profiles: [{pluginConfig: [{name: NodeAffinity, args: {added: 1}}]}]",
         "profiles[0].pluginConfig[0].args.added: unknown field"},
        {"parallelism", "parallelism: 0", "parallelism: Invalid value: 0: should be an integer value greater than zero"},
        {"percentage", "percentageOfNodesToScore: 101", "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"},
        {"back-off", "podInitialBackoffSeconds: 0", "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"},
        {"longest back-off", "podMaxBackoffSeconds: 0",
         "podMaxBackoffSeconds: Invalid value: 0: must be greater than or equal to PodInitialBackoffSeconds"},
        {"name of several", "profiles: [{schedulerName: a}, {}]", "profiles[1].schedulerName: Required value"},
        {"the same name", "profiles: [{schedulerName: a}, {schedulerName: a}]", "profiles[1].schedulerName: Duplicate value: \"a\""},
        {"extender without URL", "extenders: [{}]", "extenders[0].urlPrefix: Required value"},
        {"URL of an extender", "extenders: [{urlPrefix: localhost}]",
         "extenders[0].urlPrefix: Invalid value: \"localhost\": server \"localhost\": must begin with https:// or http://"},
        {"verb of an extender", "extenders: [{urlPrefix: 'http://a', filterVerb: 'x y'}]",
         "extenders[0].filterVerb: Invalid value: \"x y\": must be a part of a URL"},
        {"weight of an extender", "extenders: [{urlPrefix: 'http://a', prioritizeVerb: score}]",
         "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"},
        {"two binders", "extenders: [{urlPrefix: 'http://a', bindVerb: bind}, {urlPrefix: 'http://b', bindVerb: bind}]",
         "extenders: Invalid value: \"found 2 extenders implementing bind\": only one extender can implement bind"},
        {"resource of the system", "extenders: [{urlPrefix: 'http://a', managedResources: [{name: kubernetes.io/gpu}]}]",
         "extenders[0].managedResources[0].name: Invalid value: \"kubernetes.io/gpu\": is an invalid extended resource name"},
        {"a resource twice",
         "extenders: [{urlPrefix: 'http://a', managedResources: [{name: a.b/c}]}, {urlPrefix: 'http://b', managedResources: [{name: "
         "a.b/c}]}]",
         "extenders[1].managedResources[0].name: Invalid value: \"a.b/c\": duplicate extender managed resource name"},
        {"point", "profiles: [{plugins: {score: {enabled: [{name: NodePorts}]}}}]",
         "profiles[0].plugins.score.enabled[0].name: Invalid value: \"NodePorts\": the plugin does not extend score"},
        {"sort", "profiles: [{plugins: {queueSort: {disabled: [{name: '*'}]}}}]",
         "profiles[0].plugins.queueSort: Required value: PrioritySort cannot be disabled: there is no other plugin for it"},
        {"kind of arguments", "profiles: [{pluginConfig: [{name: NodeAffinity, args: {kind: NodeResourcesFitArgs}}]}]",
         "profiles[0].pluginConfig[0].args.kind: Invalid value: \"NodeResourcesFitArgs\": must be NodeAffinityArgs"},
        {"strategy", "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Random}}}]}]",
         "profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported value: \"Random\": supported values: \"LeastAllocated\", "
         "\"MostAllocated\", \"RequestedToCapacityRatio\""},
        {"default constraints",
         "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 1, topologyKey: a, "
         "whenUnsatisfiable: ScheduleAnyway}]}}]}]",
         "profiles[0].pluginConfig[0].args.defaultingType: Invalid value: \"System\": when .defaultConstraints are not empty"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(refusal(row.text), row.line);
    }
}

TEST(SchedulerConfiguration, NamesAllThatIsWrong) {
    EXPECT_EQ(refusal("x: 1\nparallelism: 0\npercentageOfNodesToScore: -1\n"),
              "x: unknown field\nparallelism: Invalid value: 0: should be an integer value greater than zero\n"
              "percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]");
}

TEST(SchedulerConfiguration, RefusesArgumentsOfTheWrongType) {
    EXPECT_TRUE(refusal("profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: 1}}]}]")
                    .starts_with("profiles[0].pluginConfig[0].args: "));
}

TEST(SchedulerConfiguration, WarnsOfWhatHasNoEffect) {
    EXPECT_EQ(warnings("parallelism: 4\n"), Names{"parallelism has no effect: one thread decides"});
    EXPECT_EQ(warnings("profiles: [{plugins: {score: {disabled: [{name: Mine}]}}}]"),
              Names{"profiles[0].plugins.score.disabled[0] has no effect: this scheduler has no plugin Mine"});
    EXPECT_EQ(warnings("profiles: [{plugins: {score: {enabled: [{name: VolumeBinding}]}}}]"),
              Names{"profiles[0].plugins.score.enabled[0].name has no effect: VolumeBinding does not score"});
    EXPECT_EQ(warnings("profiles: [{plugins: {score: {enabled: [{name: DynamicResources, weight: 5}]}}}]"), Names{});
}

TEST(SchedulerConfiguration, ReadsExtenders) {
    const std::string text =
        "extenders: [{urlPrefix: 'https://a/ext/', filterVerb: filter, prioritizeVerb: score, weight: 3, httpTimeout: 300ms, "
        "nodeCacheCapable: true, ignorable: true, managedResources: [{name: example.com/licence}]}, {urlPrefix: 'http://b'}]";
    const std::vector<ExtenderConfiguration> extenders = read(text).extenders;
    ASSERT_EQ(extenders.size(), 2u);
    EXPECT_EQ(extenders[0].filter_verb, "filter");
    EXPECT_EQ(extenders[0].weight, 3);
    EXPECT_EQ(extenders[0].timeout, std::chrono::milliseconds(300));
    EXPECT_TRUE(extenders[0].node_cache_capable && extenders[0].ignorable && extenders[0].tls);
    EXPECT_EQ(extenders[0].managed_resources, Names{"example.com/licence"});
    EXPECT_EQ(extenders[1].timeout, std::chrono::seconds(5));
    EXPECT_FALSE(extenders[1].tls);
}

TEST(SchedulerConfiguration, ReadsFilesThatExtendersName) {
    const auto result = read_configuration(
        Head + "extenders: [{urlPrefix: 'https://a', tlsConfig: {caFile: /ca.crt, keyFile: /missing.key}}]", [](const std::string& path) {
            return path == "/ca.crt" ? Result<std::string>("not a certificate") : Error(Reason::NotFound, "no such file");
        });
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().message.starts_with(
        "extenders[0].tlsConfig.keyFile: Invalid value: \"/missing.key\": no such file\nextenders[0].tlsConfig: Invalid value: "))
        << result.error().message;
    EXPECT_NE(refusal("extenders: [{urlPrefix: 'https://a', tlsConfig: {insecure: true, caData: eA==}}]")
                  .find("specifying a root certificates file with the insecure flag is not allowed"),
              std::string::npos);
}

TEST(SchedulerConfiguration, LeavesResourcesToExtenders) {
    World world(
        read("extenders: [{urlPrefix: 'http://a', managedResources: [{name: example.com/a, ignoredByScheduler: true}, {name: "
             "example.com/b}]}]"));
    world.cluster.set_node(node("n"));
    PodInfo info = pod("p");
    info.requests.extended = {{"example.com/a", 1}};
    EXPECT_EQ(world.choice(info), "n");
    info.requests.extended = {{"example.com/b", 1}};
    EXPECT_EQ(world.choice(info), "0/1 nodes are available: 1 Insufficient example.com/b.");
}

// ---- which plugins are called

TEST(PluginSets, KeepAllPluginsThatAreNotNamed) {
    EXPECT_EQ(uses("{}", Point::Reserve), (Names{"VolumeBinding", "DynamicResources"}));
    EXPECT_EQ(uses("{score: {disabled: [{name: ImageLocality}]}}", Point::Score),
              (Names{"TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity", "DynamicResources",
                     "NodeResourcesBalancedAllocation"}));
}

TEST(PluginSets, OnlyCallTheirOwnAfterAllHaveBeenDisabled) {
    EXPECT_EQ(uses("{score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, weight: 5}]}}", Point::Score),
              Names{"NodeResourcesFit=5"});
}

TEST(PluginSets, DoNotCallLaterWhatDoesNotFilter) {
    EXPECT_EQ(uses("{filter: {disabled: [{name: DynamicResources}]}}", Point::Reserve), Names{"VolumeBinding"});
    EXPECT_EQ(uses("{filter: {disabled: [{name: DynamicResources}]}}", Point::PostFilter), Names{"DefaultPreemption"});
    EXPECT_EQ(uses("{filter: {disabled: [{name: DynamicResources}]}, score: {disabled: [{name: '*'}], enabled: [{name: DynamicResources}, "
                   "{name: ImageLocality}]}}",
                   Point::Score),
              Names{"ImageLocality=1"})
        << "its scores are of what it has allocated while it filtered";
}

TEST(PluginSets, PutOverriddenPluginsFirst) {
    EXPECT_EQ(uses("{postFilter: {enabled: [{name: DefaultPreemption}]}}", Point::PostFilter),
              (Names{"DefaultPreemption=1", "DynamicResources"}));
}

TEST(PluginSets, GiveAnOverriddenPluginTheWeightOneWithoutAnother) {
    EXPECT_EQ(uses("{multiPoint: {enabled: [{name: TaintToleration}]}, score: {disabled: [{name: NodeAffinity}, {name: ImageLocality}]}}",
                   Point::Score)[0],
              "TaintToleration=1");
}

// ---- what it changes

TEST(Profile, PrefersFullNodesWithMostAllocated) {
    World world = world_of("NodeResourcesFit", "{scoringStrategy: {type: MostAllocated}}", "score");
    world.cluster.set_node(node("empty"));
    world.cluster.set_node(node("busy"));
    world.cluster.set_pod(placed(pod("other", 1000, 1 << 30), "busy"));
    EXPECT_EQ(world.choice(pod("p", 100, 1 << 20)), "busy");
}

TEST(Profile, PrefersEmptyNodesByDefault) {
    World world;
    world.cluster.set_node(node("empty"));
    world.cluster.set_node(node("busy"));
    world.cluster.set_pod(placed(pod("other", 1000, 1 << 30), "busy"));
    EXPECT_EQ(world.choice(pod("p", 100, 1 << 20)), "empty");
}

TEST(Profile, FollowsTheCurveOfRequestedToCapacityRatio) {
    // Half full is best.
    World world = world_of("NodeResourcesFit",
                           "{scoringStrategy: {type: RequestedToCapacityRatio, resources: [{name: cpu}], requestedToCapacityRatio: {shape: "
                           "[{utilization: 0, score: 0}, {utilization: 50, score: 10}, {utilization: 100, score: 0}]}}}",
                           "score");
    for (const char* name : {"a", "b", "c"}) world.cluster.set_node(node(name));
    world.cluster.set_pod(placed(pod("one", 1000), "b"));
    world.cluster.set_pod(placed(pod("two", 2900), "c"));
    EXPECT_EQ(world.choice(pod("p", 1000)), "b");
}

TEST(Profile, WeighsPluginsAsConfigured) {
    const auto choice = [](const std::string& weights) {
        World world(read("profiles: [{plugins: {score: {disabled: [{name: '*'}], enabled: " + weights + "}}}]"));
        world.cluster.set_node(node("empty"));
        world.cluster.set_node(labeled(node("preferred"), {{"disk", "ssd"}}));
        world.cluster.set_pod(placed(pod("other", 3000, 6LL << 30), "preferred"));
        PodInfo info = pod("p", 100, 1 << 20);
        info.preferred_node_terms = {{1, {.labels = {{"disk", Requirement::Operator::In, {"ssd"}}}}}};
        return world.choice(info);
    };
    EXPECT_EQ(choice("[{name: NodeAffinity, weight: 1}, {name: NodeResourcesFit, weight: 10}]"), "empty");
    EXPECT_EQ(choice("[{name: NodeAffinity, weight: 10}, {name: NodeResourcesFit, weight: 1}]"), "preferred");
}

TEST(Profile, EnforcesAddedAffinity) {
    World world = world_of("NodeAffinity",
                           "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: "
                           "[{key: pool, operator: In, values: [blue]}]}]}}}",
                           "filter");
    world.cluster.set_node(node("a"));
    EXPECT_EQ(world.choice(pod("p")), "0/1 nodes are available: 1 node(s) didn't match scheduler-enforced node affinity.");
    world.cluster.set_node(labeled(node("b"), {{"pool", "blue"}}));
    EXPECT_EQ(world.choice(pod("p")), "b");
}

TEST(Profile, IgnoresResourcesThatItIsTold) {
    World world = world_of("NodeResourcesFit", "{ignoredResourceGroups: [example.com]}", "filter");
    world.cluster.set_node(node("a"));
    PodInfo info = pod("p");
    info.requests.extended = {{"example.com/gpu", 1}};
    EXPECT_EQ(world.choice(info), "a");
    info.requests.extended = {{"example.org/gpu", 1}};
    EXPECT_EQ(world.choice(info), "0/1 nodes are available: 1 Insufficient example.org/gpu.");
}

TEST(Profile, SpreadsByItsOwnDefaultConstraints) {
    World world = world_of("PodTopologySpread",
                           "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, "
                           "whenUnsatisfiable: DoNotSchedule}]}",
                           "filter");
    world.cluster.set_node(node("a"));
    world.cluster.set_node(node("b"));
    PodInfo info = pod("p");
    info.labels = {{"app", "x"}};
    info.owned_by_set = true;
    PodInfo other = info;
    other.uid = "other";
    world.cluster.set_pod(placed(other, "a"));
    EXPECT_EQ(world.choice(info), "b");
}

TEST(Profile, LooksForTheShareOfNodesThatItNames) {
    EXPECT_EQ(Cycle::nodes_wanted(1000, 100), 1000u);
    EXPECT_EQ(Cycle::nodes_wanted(1000, 20), 200u);
    EXPECT_EQ(Cycle::nodes_wanted(1000, 1), 100u);
    EXPECT_EQ(Cycle::nodes_wanted(50, 1), 50u);
}

TEST(Profile, SharesPluginsWithOthersOfTheSameArguments) {
    World world(
        read("profiles: [{schedulerName: a}, {schedulerName: b}, {schedulerName: c, pluginConfig: [{name: VolumeBinding, args: "
             "{bindTimeoutSeconds: 5}}, {name: InterPodAffinity, args: {hardPodAffinityWeight: 3}}]}]"));
    // One that reserves serves all profiles.
    EXPECT_EQ(world.plugins.size(), plugin_entries().size() + 1);
}

}  // namespace
}  // namespace porthole::scheduler
