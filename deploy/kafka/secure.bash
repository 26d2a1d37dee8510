# shellcheck shell=bash
# The secure half of `deploy/kafka/local`: keys, users and rights. Sourced, never run.

# admin may do everything; the others have the rights of the table `acls`, no more.
readonly USERS=(admin ingest release all feed recipient)
# Brokers know each other by certificate, on listeners of their own.
readonly BROKER_NAME='CN=tapveil-broker'

random_word() { head -c 24 /dev/urandom | base64 | tr '+/' 'xy'; }

# --- keys ---------------------------------------------------------------------------

# The password goes through the environment: arguments are visible to everybody in ps.
run_keytool() {
  run_child keytool -J-XX:TieredStopAtLevel=1 "$@" -storetype PKCS12 -storepass:env STORE_PASSWORD \
    2>>"$secure/keytool.log" || die "keytool failed: $(tail -n 1 "$secure/keytool.log")"
}

# make_authority FILE NAME: a self-signed certificate that may sign others.
make_authority() {
  run_keytool -genkeypair -keystore "$secure/$1.p12" -alias ca -dname "CN=$2" \
    -keyalg EC -groupname secp256r1 -validity 30 -ext bc:c=ca:true -ext ku:c=keyCertSign
  run_keytool -exportcert -rfc -keystore "$secure/$1.p12" -alias ca >"$secure/$1.pem"
}

make_keys() {
  STORE_PASSWORD=$(random_word)
  export STORE_PASSWORD
  make_authority ca 'tapveil local test CA'
  make_authority unknown-ca 'a CA that signed nothing here'
  run_keytool -genkeypair -keystore "$secure/broker.p12" -alias broker -dname "$BROKER_NAME" \
    -keyalg EC -groupname secp256r1 -validity 30
  run_keytool -certreq -keystore "$secure/broker.p12" -alias broker >"$secure/broker.csr"
  run_keytool -gencert -rfc -keystore "$secure/ca.p12" -alias ca -validity 30 \
    -infile "$secure/broker.csr" -ext san=ip:127.0.0.1,dns:localhost \
    -ext eku=serverAuth,clientAuth >"$secure/broker.pem"
  run_keytool -importcert -noprompt -keystore "$secure/broker.p12" -alias ca -file "$secure/ca.pem"
  run_keytool -importcert -noprompt -keystore "$secure/broker.p12" -alias broker -file "$secure/broker.pem"
  # A certificate of this CA makes its holder a broker, so nobody may sign another one.
  rm -f "$secure/ca.p12" "$secure/unknown-ca.p12" "$secure/broker.csr" "$secure/broker.pem" "$secure/keytool.log"
}

# --- users --------------------------------------------------------------------------

make_users() {
  local user
  for user in "${USERS[@]}"; do
    random_word >"$secure/$user.password"
    client_properties "$user" >"$secure/$user.properties"
  done
}

# What a Java client of this user needs; librdkafka takes ca.pem and the password file.
client_properties() {
  cat <<EOF
security.protocol=SASL_SSL
ssl.truststore.type=PEM
ssl.truststore.location=$secure/ca.pem
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="$1" password="$(<"$secure/$1.password")";
EOF
}

scram_options() {
  local user
  for user in "${USERS[@]}"; do
    printf -- "--add-scram 'SCRAM-SHA-512=[name=%s,password=%s]'\n" "$user" "$(<"$secure/$user.password")"
  done
}

secure_broker_properties() {
  cat <<EOF
listener.security.protocol.map=CLIENT:SASL_SSL,INTERNAL:SSL,CONTROLLER:SSL
ssl.keystore.type=PKCS12
ssl.keystore.location=$secure/broker.p12
ssl.keystore.password=$STORE_PASSWORD
ssl.truststore.type=PEM
ssl.truststore.location=$secure/ca.pem
listener.name.internal.ssl.client.auth=required
listener.name.controller.ssl.client.auth=required
listener.name.client.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.client.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:admin;User:$BROKER_NAME
EOF
}

# --- rights -------------------------------------------------------------------------

acl_rows() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$HERE/acls"; }

# acl_options ROLES RESOURCE NAME OPERATIONS: one row as AclCommand's options, one a line.
acl_options() {
  local word pattern=literal
  [[ $3 == *'*' ]] && pattern=prefixed
  printf '%s\n' --add --resource-pattern-type "$pattern" "--$2" "${3%'*'}"
  for word in ${1//,/ }; do printf '%s\n' --allow-principal "User:$word"; done
  for word in ${4//,/ }; do printf '%s\n' --operation "$word"; done
}

# Every row is a Java program of its own; two at a time keeps the wait short.
grant_acls() {
  local roles resource name operations options pids=()
  while read -r roles resource name operations; do
    mapfile -t options < <(acl_options "$roles" "$resource" "$name" "$operations")
    kafka_tool admin AclCommand "${options[@]}" >>"$secure/acls.log" 2>&1 &
    pids+=("$!")
    ((${#pids[@]} == 1)) || await_grants
  done < <(acl_rows)
  await_grants
  check_acls >>"$secure/acls.log" 2>&1 || die_with_log "the rights granted are not those of the table" "$secure/acls.log"
}

await_grants() {
  local pid
  for pid in "${pids[@]}"; do
    wait "$pid" || die_with_log "a right could not be granted" "$secure/acls.log"
  done
  pids=()
}

# Both sides of the comparison as lines "role type name pattern operation".
acls_of_table() {
  local roles resource name operations role operation
  while read -r roles resource name operations; do
    for role in ${roles//,/ }; do
      for operation in ${operations//,/ }; do
        if [[ $name == *'*' ]]; then printf '%s %s %s prefixed %s\n' "$role" "$resource" "${name%'*'}" "$operation"
        else printf '%s %s %s literal %s\n' "$role" "$resource" "$name" "$operation"; fi
      done
    done
  done < <(acl_rows) | canonical
}

# From what AclCommand lists. A line it does not understand passes as it is, and differs.
acls_of_cluster() {
  sed -nE \
    -e 's/.*resourceType=([A-Z_]+), name=(.*), patternType=([A-Z]+).*/\1 \2 \3/; T grant; h; d' \
    -e ':grant' \
    -e '/principal=/ { G; s/.*principal=User:(.*), host=\*, operation=([A-Z_]+), permissionType=ALLOW\)\s*\n(.*)/\1 \3 \2/; T odd; p; d }' \
    -e 'd' -e ':odd' -e 's/\n.*//; p' "$secure/acls.listed" | canonical
}

# Kafka spells DescribeConfigs also DESCRIBE_CONFIGS.
canonical() { tr '[:upper:]' '[:lower:]' | tr -d '_-' | LC_ALL=C sort; }

check_acls() {
  run_child kafka_tool admin AclCommand --list >"$secure/acls.listed" || die "the cluster did not list its rights"
  diff --label table --label cluster -u <(acls_of_table) <(acls_of_cluster)
}

# The same rights as commands for a cluster that an operator runs.
print_acl_commands() {
  local roles resource name operations options
  while read -r roles resource name operations; do
    mapfile -t options < <(acl_options "$roles" "$resource" "$name" "$operations")
    # shellcheck disable=SC2016 # for the operator's shell to expand
    printf 'kafka-acls.sh --bootstrap-server "$BOOTSTRAP" --command-config admin.properties'
    printf ' %q' "${options[@]}"
    echo
  done < <(acl_rows)
}
