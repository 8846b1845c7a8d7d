#pragma once
#include "api/core_v1.h"
#include "client/fake/fake_api.h"
#include "schema/value.h"

namespace porthole::scheduler::testing {

/// Puts an object of a record into an API, with its name as uid if it has none. Requires a kind that the scheduler reads.
void put_object(client::FakeApi& api, schema::Value object);

}  // namespace porthole::scheduler::testing
