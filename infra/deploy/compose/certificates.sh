#!/bin/sh
# Makes an authority, and a certificate for each end of gRPC, unless they are there already: certificates.sh <folder>
set -eu
umask 027
cd "$1"

days=3650
new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null; }

if [ ! -e authority/complete ]; then
  # What another authority has signed is no longer good.
  rm -f ./*/complete
  mkdir -p authority
  new_key authority/tls.key
  openssl req -x509 -new -key authority/tls.key -sha256 -days "$days" -subj '/CN=development authority' \
    -addext 'basicConstraints=critical,CA:TRUE' -addext 'keyUsage=critical,keyCertSign' -out authority/tls.crt
  touch authority/complete
fi

for name in auth-server resource-server web operator; do
  [ ! -e "$name/complete" ] || continue
  mkdir -p "$name"
  new_key "$name/tls.key"
  {
    echo 'basicConstraints=critical,CA:FALSE'
    echo 'extendedKeyUsage=serverAuth,clientAuth'
    echo "subjectAltName=URI:spiffe://open-payments/$name,DNS:$name,DNS:localhost"
  } >"$name/extensions"
  openssl req -new -key "$name/tls.key" -subj "/CN=$name" |
    openssl x509 -req -CA authority/tls.crt -CAkey authority/tls.key -CAcreateserial -sha256 -days "$days" \
      -extfile "$name/extensions" -out "$name/tls.crt" 2>/dev/null
  cp authority/tls.crt "$name/ca.crt"
  # Whom the images run as.
  [ "$(id -u)" -ne 0 ] || chown -R 65532:65532 "$name"
  touch "$name/complete"
done
