#? ./run test lost-servers
#?     logs, commands, watches, rollouts and writes through three servers and a node's balancer, while each server in turn is killed, stands still
#?     or is cut off; ./run test cluster does it with one server

test_lost_servers() { PORTHOLE_LOST_SERVERS=all test_cluster test_lost_servers; }
