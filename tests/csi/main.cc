// csi_driver NAME=VALUE...: a driver of volumes for the cluster's tests, until it is told to end. Names: name, node, endpoint,
// registration, storage, capabilities (numbers of the specification, "1,2,3"), most-volumes, topology ("key:value"), controller
// ("elsewhere": there is a controller's half), attached ("by-controller": it puts attached volumes into `storage`).
#include <cstdio>
#include <cstdlib>

#include "csi/csi_driver.h"
#include "runtime/run_task.h"
#include "runtime/sync.h"

using namespace porthole;

namespace {

testing::CsiDriver::Options parse(int count, char** words) {
    testing::CsiDriver::Options options;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(0, equals), value = equals == word.npos ? "" : word.substr(equals + 1);
        if (name == "name") options.name = value;
        if (name == "node") options.node_id = value;
        if (name == "endpoint") options.endpoint = value;
        if (name == "registration") options.registration = value;
        if (name == "storage") options.storage = value;
        if (name == "attached") options.attached = true;
        if (name == "controller") options.has_controller = true;
        if (name == "most-volumes") options.most_volumes = std::atoll(value.c_str());
        if (name == "topology") options.topology[value.substr(0, value.find(':'))] = value.substr(value.find(':') + 1);
        if (name == "capabilities")
            for (std::size_t at = 0; at < value.size(); at += 2)
                options.capabilities.insert(static_cast<api::csi::v1::NodeCapabilityType>(value[at] - '0'));
    }
    return options;
}

Task<> serve(AsioLoop& loop, testing::CsiDriver& driver) {
    Event stop;
    loop.on_signal([&](int) { stop.set(); });
    CO_TRY_VOID(co_await stop.wait());
    co_return co_await driver.close();
}

}  // namespace

int main(int count, char** words) {
    AsioLoop loop;
    testing::CsiDriver driver(loop, parse(count, words));
    if (const auto started = driver.start(); !started) {
        std::fprintf(stderr, "csi_driver: %s\n", started.error().message.c_str());
        return 1;
    }
    const auto ended = run_task(loop, serve(loop, driver));
    return ended ? 0 : 1;
}
