# Dumps both databases into a folder named after the moment. It has that name only once both dumps are complete.
set -eu

folder="$BACKUP_FOLDER/$(date -u +%Y-%m-%dT%H-%M-%SZ)"
mkdir "$folder.unfinished"
# The resource server's first: after a restore, the auth server's must be the later one.
for service in resource-server auth-server; do
  dump="$folder.unfinished/$service.dump"
  pg_dump --format=custom --no-password --file="$dump" --dbname="$(cat "$SECRET_FOLDER/$service-database-url")"
  pg_restore --list "$dump" > /dev/null
done
mv "$folder.unfinished" "$folder"

# What this script made, and nothing else that may be there.
find "$BACKUP_FOLDER" -mindepth 1 -maxdepth 1 -type d -name '20??-??-??T??-??-??Z*' -mtime "+$KEEP_DAYS" \
  -exec rm -r {} +
