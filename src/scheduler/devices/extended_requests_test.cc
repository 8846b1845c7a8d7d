#include "scheduler/devices/extended_requests.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::scheduler {
namespace {

/// "r1:2 r2:1 | c1=r1 c2=r2", for the amounts of "x/gpu" that the containers name.
std::string requests_of(const std::string& init, const std::string& containers) {
    const auto pod =
        schema::decode_json<api::core::v1::Pod>(R"({"spec": {"initContainers": [)" + init + R"(], "containers": [)" + containers + "]}}")
            .value();
    const ExtendedRequests made = extended_requests(pod, {{"x/gpu", "gpu"}});
    return join(made.requests, " ", [](const auto& one) { return one.name + ":" + std::to_string(one.exactly->count); }) + " | " +
           join(made.mappings, " ", [](const auto& one) { return one.container_name + "=" + one.request_name; });
}
std::string container(const std::string& name, int gpus, const std::string& more = "") {
    return R"({"name": ")" + name + R"(", "resources": {"requests": {"cpu": "1", "x/gpu": ")" + std::to_string(gpus) + "\"}}" + more + "}";
}
const std::string Sidecar = R"(, "restartPolicy": "Always")";

TEST(ExtendedRequests, EachContainerHasItsOwn) {
    EXPECT_EQ(requests_of("", container("a", 2) + ", " + container("none", 0) + ", " + container("b", 1)),
              "container-0-request-1:2 container-2-request-1:1 | a=container-0-request-1 b=container-2-request-1");
}

TEST(ExtendedRequests, InitContainersUseWhatIsForThoseThatStartLater) {
    EXPECT_EQ(requests_of(container("first", 1), container("a", 2)),
              "container-1-request-1:2 | a=container-1-request-1 first=container-1-request-1");
    EXPECT_EQ(
        requests_of(container("side", 2, Sidecar) + ", " + container("first", 3), container("a", 1)),
        "container-0-request-1:2 container-1-request-1:2 container-2-request-1:1 | side=container-0-request-1 a=container-2-request-1 "
        "first=container-2-request-1 first=container-1-request-1")
        << "a sidecar that runs already keeps its own";
}

TEST(ExtendedRequests, InitContainersShareWhatTheyNeedInAddition) {
    EXPECT_EQ(requests_of(container("first", 2) + ", " + container("second", 3), container("a", 1)),
              "container-1-request-1:2 container-2-request-1:1 | a=container-2-request-1 first=container-2-request-1 "
              "first=container-1-request-1 second=container-2-request-1 second=container-1-request-1");
}

TEST(ExtendedRequests, ThoseOfManyContainersEndBeyondWhatAClaimCanHave) {
    constexpr int Many = 5'000;
    api::core::v1::Pod pod;
    for (auto* containers : {&pod.spec.init_containers, &pod.spec.containers})
        for (int i = 0; i < Many; ++i) {
            auto& one = containers->emplace_back();
            one.name = "c" + std::to_string(i);
            one.resources.requests["x/gpu"] = Quantity::from_value(containers == &pod.spec.containers ? 1 : Many);
        }
    const ExtendedRequests made = extended_requests(pod, {{"x/gpu", "gpu"}});
    EXPECT_GT(made.requests.size(), 32u) << "which the API server refuses";
    EXPECT_LT(made.mappings.size(), 50u * Many) << "not one for each pair of containers";
}

TEST(ExtendedRequests, InitContainersOfAPodHaveNoMoreThanItsStatusCanTell) {
    constexpr std::size_t Requests = 32, LargestObject = 3 << 19;
    api::core::v1::Pod pod;
    for (std::size_t i = 0; i < 5'000 + Requests; ++i) {
        const bool lasts = i < Requests;
        auto& one = (lasts ? pod.spec.containers : pod.spec.init_containers).emplace_back();
        one.name = "c";
        for (const char* resource : {"x/a", "x/b"}) one.resources.requests[resource] = Quantity::from_value(lasts ? 1 : Requests);
    }
    const ExtendedRequests made = extended_requests(pod, {{"x/a", "c"}, {"x/b", "c"}});
    EXPECT_LT(made.mappings.size(), 25'000u);
    std::size_t size = 0;
    for (const auto& mapping : made.mappings) size += schema::encode_json(mapping).size();
    EXPECT_GT(size, LargestObject) << "so that it is refused, and not stored in part";
}

}  // namespace
}  // namespace porthole::scheduler
