#include "windows/inference.h"

#include <gtest/gtest.h>

#include "schema/json/json.h"

namespace porthole::windows {
namespace {

// SCH-02, SCH-03, SCH-06, SCH-11, SCH-12
TEST(WindowsInference, ThePodSaysItsSystemInManyWays) {
    const ClassSelectors classes = {{"windows-2019", {{"kubernetes.io/os", "windows"}, {"node.kubernetes.io/windows-build", "10.0.17763"}}},
                                    {"gvisor", {{"pool", "sandboxed"}}}};
    struct {
        const char* name;
        const char* spec;
        const char* system;
        const char* reason;
        bool decides;
    } const rows[] = {
        {"nothing", R"({})", "", "", false},
        {"name", R"({"os":{"name":"linux"},"nodeSelector":{"kubernetes.io/os":"windows"}})", "linux", "spec.os.name is linux", true},
        {"selector", R"({"nodeSelector":{"kubernetes.io/os":"windows"}})", "windows", R"(spec.nodeSelector["kubernetes.io/os"] is windows)",
         true},
        {"old selector", R"({"nodeSelector":{"beta.kubernetes.io/os":"windows"}})", "windows",
         R"(spec.nodeSelector["beta.kubernetes.io/os"] is windows)", true},
        {"build", R"({"nodeSelector":{"node.kubernetes.io/windows-build":"10.0.20348"}})", "windows",
         R"(spec.nodeSelector["node.kubernetes.io/windows-build"] is one of Windows nodes)", true},
        {"Wine", R"({"nodeSelector":{"porthole.dev/wine-version":"10.0"}})", "windows",
         R"(spec.nodeSelector["porthole.dev/wine-version"] is one of Windows nodes)", true},
        {"affinity", R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
            {"matchExpressions":[{"key":"kubernetes.io/os","operator":"In","values":["windows"]}]}]}}}})",
         "windows", "spec.affinity.nodeAffinity requires windows", true},
        {"runtime class", R"({"runtimeClassName":"windows-2019"})", "windows",
         "spec.runtimeClassName is windows-2019, whose nodes run windows", true},
        {"another runtime class", R"({"runtimeClassName":"gvisor"})", "", "", false},
        {"unknown runtime class", R"({"runtimeClassName":"x"})", "", "", false},
        {"toleration", R"({"tolerations":[{"operator":"Exists"},{"key":"os","value":"Windows"}]})", "windows",
         "spec.tolerations[1] is for os=Windows", false},
        {"any toleration", R"({"tolerations":[{"operator":"Exists"},{"key":"os","operator":"Exists"}]})", "", "", false},
        {"image", R"({"containers":[{"name":"a","image":"mcr.microsoft.com/windows/nanoserver:ltsc2022"}]})", "windows",
         "spec.containers[0].image is mcr.microsoft.com/windows/nanoserver:ltsc2022", false},
        {"image of both systems", R"({"containers":[{"name":"a","image":"registry.k8s.io/pause:3.10"}]})", "", "", false},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const InferredSystem found = infer_system(schema::decode_json<core::PodSpec>(row.spec).value(), "spec", classes);
        EXPECT_EQ(found.system, row.system);
        EXPECT_EQ(found.reason, row.reason);
        EXPECT_EQ(found.decides, row.decides);
    }
}

}  // namespace
}  // namespace porthole::windows
