#include "fleet/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/json/json.h"

namespace porthole::fleet {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string stage(const std::string& spec) {
    return "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: s}\nspec:\n  resourceRef: {apiGroup: v1, kind: Pod}\n" + spec;
}
std::string why_refused(const std::string& yaml) {
    const auto parsed = parse_stages(yaml);
    return parsed ? "accepted" : parsed.error().message;
}

FleetPod pod(const std::string& text, const std::string& uid = "u1") {
    FleetPod made;
    made.key = {"default", "p"};
    made.uid = uid;
    made.node = "fleet-0";
    made.text = text;
    return made;
}

std::string rendered(const std::string& text, const std::string& object = "{}") {
    const auto parsed = StageTemplate::parse(text);
    if (!parsed) return parsed.error().message;
    const auto result = parsed->render(*schema::parse_json(object), {"2026-01-02T03:04:05Z", [] { return "198.18.0.1"; },
                                                                     [] { return std::optional<std::string>("10.1.0.2"); }});
    return result ? *result : result.error().message;
}

TEST(StageTemplate, DoesWhatGosTemplatesDo) {
    struct {
        const char *name, *text, *object, *result;
    } const rows[] = {
        {"text", "a b", "{}", "a b"},
        {"a field", "{{ .a.b }}", R"({"a":{"b":"x"}})", "x"},
        {"a number", "{{ .a }}", R"({"a":3})", "3"},
        {"an absent field", "{{ .a.b }}", "{}", "<no value>"},
        {"quotes", "{{ .a | Quote }}", R"({"a":"x\"y"})", R"("x\"y")"},
        {"a variable", "{{ $n := Now }}{{ $n | Quote }}", "{}", R"("2026-01-02T03:04:05Z")"},
        {"a changed variable", "{{ $n := 1 }}{{ $n = 2 }}{{ $n }}", "{}", "2"},
        {"if", "{{ if .a }}yes{{ else }}no{{ end }}", R"({"a":"x"})", "yes"},
        {"if of an empty list", "{{ if .a }}yes{{ else }}no{{ end }}", R"({"a":[]})", "no"},
        {"else if", "{{ if .a }}1{{ else if .b }}2{{ else }}3{{ end }}", R"({"b":true})", "2"},
        {"range", "{{ range .a }}<{{ .n }}>{{ end }}", R"({"a":[{"n":1},{"n":2}]})", "<1><2>"},
        {"range with variables", "{{ range $i, $x := .a }}{{ $i }}{{ $x }};{{ end }}", R"({"a":["p","q"]})", "0p;1q;"},
        {"range of nothing", "{{ range .a }}x{{ else }}none{{ end }}", "{}", "none"},
        {"the root inside a range", "{{ range .a }}{{ $.b }}{{ end }}", R"({"a":[1,2],"b":"r"})", "rr"},
        {"with", "{{ with .a }}{{ .b }}{{ end }}", R"({"a":{"b":"x"}})", "x"},
        {"eq", R"({{ if eq .a "x" }}same{{ else }}other{{ end }})", R"({"a":"x"})", "same"},
        {"eq of an absent field", R"({{ if eq .a "x" }}same{{ else }}other{{ end }})", "{}", "other"},
        {"or", R"({{ or .a .b "z" }})", R"({"b":"y"})", "y"},
        {"and, not", "{{ if and .a (not .b) }}yes{{ end }}", R"({"a":true})", "yes"},
        {"index", "{{ $x := index .a 1 }}{{ $x.n }}", R"({"a":[{"n":"p"},{"n":"q"}]})", "q"},
        {"trimmed spaces", "a  {{- 1 -}}  b", "{}", "a1b"},
        {"a comment", "a{{/* not shown */}}b", "{}", "ab"},
        {"addresses", R"({{ NodeIPWith .n }} {{ PodIPWith .n (or .h false) "" }})", "{}", "198.18.0.1 10.1.0.2"},
    };
    for (const auto& row : rows) EXPECT_EQ(rendered(row.text, row.object), row.result) << row.name;
}

TEST(StageTemplate, RefusesByNameWhatItDoesNotKnow) {
    EXPECT_THAT(rendered("{{ YAML . 1 }}"), HasSubstr("\"YAML\" is not understood"));
    EXPECT_THAT(rendered("{{ template \"x\" }}"), HasSubstr("\"template\" is not understood"));
    EXPECT_THAT(rendered("{{ if .a }}"), HasSubstr("{{end}} is missing"));
    EXPECT_THAT(rendered("{{ end }}"), HasSubstr("without a beginning"));
    EXPECT_THAT(rendered("{{ .a"), HasSubstr("not closed"));
    EXPECT_THAT(rendered("{{ (or .a }}"), HasSubstr("a parenthesis is not closed"));
    EXPECT_THAT(rendered("{{ $x }}"), HasSubstr("undefined variable"));
    EXPECT_THAT(rendered("{{ a ! b }}"), HasSubstr("\"!\" is not understood"));
    EXPECT_THAT(rendered(std::string(10'000, '(').insert(0, "{{") + "}}"), HasSubstr("nested too deeply"));
}

TEST(StageTemplate, ItsResultIsBounded) {
    std::string text = "{{ .a }}", object = R"({"a":")" + std::string(2000, 'x') + R"(","l":[)";
    for (int i = 0; i < 1000; ++i) object += i ? ",1" : "1";
    text = "{{ range $.l }}{{ range $.l }}{{ $.a }}{{ end }}{{ end }}";
    EXPECT_THAT(rendered(text, object + "]}"), HasSubstr("the result is too long"));
}

TEST(StageQuery, FindsWhatJqWould) {
    const schema::Value object = *schema::parse_json(
        R"({"a":{"b":"x"},"l":[{"k":"Job"},{"k":"Set"}],"c":[{"type":"Ready","status":"True"},{"type":"Other","status":"False"}]})");
    const auto found = [&](const char* text) {
        std::string all;
        const auto query = StageQuery::parse(text);
        if (!query) return query.error().message;
        for (const schema::Value* value : query->find(object)) all += std::string(value->string_or("?")) + " ";
        return all;
    };
    EXPECT_EQ(found(".a.b"), "x ");
    EXPECT_EQ(found(".a.z"), "");
    EXPECT_EQ(found(".l.[].k"), "Job Set ");
    EXPECT_EQ(found(".l[].k"), "Job Set ");
    EXPECT_EQ(found(R"(.c.[] | select( .type == "Ready" ) | .status)"), "True ");
    EXPECT_THAT(found(R"(.metadata.annotations["x"])"), HasSubstr("is not understood"));
    EXPECT_THAT(found("a"), HasSubstr("is not understood"));
}

TEST(Stages, RefuseByNameWhatIsNotSupported) {
    struct {
        const char *name, *yaml, *why;
    } const rows[] = {
        {"nodes", "  resourceRef: {kind: Node}\n", "spec.resourceRef.kind: Node is not supported"},
        {"steps", "  steps: []\n", "spec.steps is not supported"},
        {"events", "  next: {event: {}}\n", "spec.next.event is not supported"},
        {"finalizers", "  next: {finalizers: {remove: []}}\n", "spec.next.finalizers.remove is not supported"},
        {"delays", "  delay: {durationFrom: {}}\n", "spec.delay.durationFrom is not supported"},
        {"negative delays", "  delay: {durationMilliseconds: -1}\n", "spec.delay.durationMilliseconds must be a number from 0"},
        {"operators", "  selector: {matchExpressions: [{key: .a, operator: Gt, values: ['1']}]}\n", "\"Gt\" is not one of In, NotIn"},
        {"values", "  selector: {matchExpressions: [{key: .a, operator: In}]}\n", "In and NotIn take values"},
        {"templates", "  next: {statusTemplate: '{{ Version }}'}\n", "spec.next.statusTemplate: template: \"Version\" is not understood"},
    };
    for (const auto& row : rows) {
        std::string yaml = stage(row.yaml);
        if (std::string(row.name) == "nodes")
            yaml.replace(yaml.find("  resourceRef: {apiGroup"),
                         yaml.find('\n', yaml.find("apiGroup")) + 1 - yaml.find("  resourceRef: {apiGroup"), "");
        EXPECT_THAT(why_refused(yaml), HasSubstr("stage \"s\": ")) << row.name;
        EXPECT_THAT(why_refused(yaml), HasSubstr(row.why)) << row.name;
    }
    EXPECT_THAT(why_refused("kind: Pod"), HasSubstr("is not a Stage of kwok.x-k8s.io/v1alpha1"));
    EXPECT_THAT(why_refused(stage("  next: {}\n") + "---\n" + stage("  next: {}\n")), HasSubstr("\"s\" is there twice"));
    EXPECT_THAT(why_refused(""), HasSubstr("there is no stage"));
}

TEST(Stages, AStageIsForThePodsThatItSelects) {
    const std::string spec = R"(
  selector:
    matchLabels: {app: web}
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.phase, operator: NotIn, values: [Running]}
  delay: {durationMilliseconds: 500}
  next: {delete: true}
)";
    StageModel model(*parse_stages(stage(spec)));
    const auto step = model.next(pod(R"({"metadata":{"labels":{"app":"web"}}})"));
    ASSERT_TRUE(step);
    EXPECT_EQ(step->name, "s");
    EXPECT_EQ(step->delay, Duration(500ms));
    EXPECT_FALSE(model.next(pod(R"({"metadata":{"labels":{"app":"other"}}})")));
    EXPECT_FALSE(model.next(pod(R"({"metadata":{"labels":{"app":"web"},"deletionTimestamp":"x"}})")));
    EXPECT_FALSE(model.next(pod(R"({"metadata":{"labels":{"app":"web"}},"status":{"phase":"Running"}})")));
    StageModel nothing(*parse_stages(stage("  next: {delete: true}\n")));
    EXPECT_FALSE(nothing.next(pod("{}"))) << "a stage without a selector is for none";
}

TEST(Stages, ATemplateMakesThePatchOfTheStatus) {
    const std::string spec = R"(
  selector: {matchExpressions: [{key: .status.podIP, operator: DoesNotExist}]}
  next:
    statusTemplate: |
      {{ $now := Now }}
      phase: Running
      podIP: {{ PodIP | Quote }}
      hostIP: {{ NodeIP | Quote }}
      startTime: {{ $now | Quote }}
      containerStatuses:
      {{ range .spec.containers }}
      - name: {{ .name | Quote }}
        ready: true
      {{ end }}
)";
    StageModel model(*parse_stages(stage(spec)));
    const FleetPod one = pod(R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})");
    const auto change = model.perform(one, "s", {"198.18.0.1", [] { return std::optional<std::string>("10.1.0.2"); }}, SystemTime());
    ASSERT_TRUE(change) << change.error().message;
    EXPECT_EQ(change->status_patch, R"({"metadata":{"uid":"u1"},"status":{"phase":"Running","podIP":"10.1.0.2","hostIP":"198.18.0.1",)"
                                    R"("startTime":"1970-01-01T00:00:00Z","containerStatuses":[{"name":"a","ready":true},)"
                                    R"({"name":"b","ready":true}]}})");
    const auto none = model.perform(one, "s", {"198.18.0.1", [] { return std::optional<std::string>(); }}, SystemTime());
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().reason, Reason::ServiceUnavailable);
}

TEST(Stages, WeightsDivideThePodsAndDelaysSpreadThem) {
    const std::string selector = "  selector: {matchLabels: {}}\n";
    std::string rare = stage(selector + "  weight: 1\n  next: {delete: true}\n"),
                usual =
                    stage(selector + "  weight: 3\n  delay: {durationMilliseconds: 100, jitterDurationMilliseconds: 300}\n  next: {}\n");
    rare.replace(rare.find("name: s"), 7, "name: r");
    StageModel model(*parse_stages(rare + "---\n" + usual));
    int rarely = 0;
    for (int i = 0; i < 1000; ++i) {
        const FleetPod one = pod("{}", "uid-" + std::to_string(i));
        const auto step = model.next(one);
        rarely += step->name == "r";
        EXPECT_EQ(model.next(one)->name, step->name) << "the same pod, the same choice";
        if (step->name == "s") EXPECT_TRUE(step->delay >= 100ms && step->delay <= 300ms);
    }
    EXPECT_NEAR(rarely, 250, 60);
}

}  // namespace
}  // namespace porthole::fleet
