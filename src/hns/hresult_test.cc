#include "hns/hresult.h"

#include <gtest/gtest.h>

#include "base/result.h"

namespace porthole::hns {
namespace {

// HNS-16
TEST(HnsHresult, NamesCodesAndKeepsThemInErrors) {
    const Error error = hresult_error(Hresult::PortAlreadyExists);
    EXPECT_TRUE(error.message.starts_with("HCN_E_PORT_ALREADY_EXISTS (0x803b0013): ")) << error.message;
    EXPECT_EQ(error.reason, Reason::AlreadyExists);
    const Error told = Error(error).with_context("HcnCreateLoadBalancer {}");
    EXPECT_TRUE(is_hresult(told, Hresult::PortAlreadyExists));
    EXPECT_EQ(hresult_of(Error(Reason::Io, "something else")), Hresult::Ok);
    EXPECT_EQ(hresult_name(Hresult{0x8007abcd}), "0x8007abcd");
}

TEST(HnsHresult, WritesAndReadsErrorRecords) {
    const std::string record = error_record(hresult_error(Hresult::NetworkNotFound));
    EXPECT_EQ(record, R"({"Success":false,"Error":"The network was not found. ","ErrorCode":2151350273})");
    EXPECT_TRUE(is_object_missing(error_of_record(0x803b0001, record)));
}

TEST(HnsHresult, TakesTheCodeWhereverItIs) {
    const struct {
        const char* name;
        std::uint32_t hresult;
        const char* record;
        Hresult expected;
    } rows[] = {
        {"only the code", 0x803b0002, "", Hresult::EndpointNotFound},
        {"success with a record is failure", 0, R"({"Success":false,"Error":"x. ","ErrorCode":2151350291})", Hresult::PortAlreadyExists},
        {"a Win32 code cut down", 1168, "", Hresult::ElementNotFound},
        {"a record that is no JSON", 0x80070057, "invalid number of destinations", Hresult::InvalidParameter},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(hresult_of(error_of_record(row.hresult, row.record)), row.expected);
    }
}

TEST(HnsHresult, TellsTransientFromFinal) {
    EXPECT_TRUE(is_disconnected(hresult_error(Hresult::RpcServerUnavailable)));
    EXPECT_FALSE(is_object_missing(hresult_error(Hresult::PortNotFound)));
    EXPECT_EQ(hresult_error(Hresult::PortNotFound).reason, Reason::Unavailable);
}

}  // namespace
}  // namespace porthole::hns
