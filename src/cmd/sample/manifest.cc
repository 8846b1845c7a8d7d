#include "cmd/sample/sample.h"

namespace porthole::cmd::sample {
namespace {

#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr char Manifest[] = {
#embed "sample-web.yaml"
};

}  // namespace

std::string_view web_manifest() { return {Manifest, sizeof Manifest}; }

}  // namespace porthole::cmd::sample
